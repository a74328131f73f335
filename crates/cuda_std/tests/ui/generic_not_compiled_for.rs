use cuda_std::prelude::*;

#[kernel((T, N) = [(f32, 4), (f64, 2)])]
pub fn fill<T: cuda_std::Element, const N: usize>(mut y: DisjointSlice<T>) {
    let _ = y.own();
}

fn main() {
    let _ = fill::<f32, 4>(&mut [0.0; 8]);
    let _ = fill::<f32, 2>(&mut [0.0; 8]);
}
