use cuda_std::prelude::*;

#[kernel((T, N) = [(f32, 4), (f64)])]
pub fn fill<T: cuda_std::Element, const N: usize>(mut y: DisjointSlice<T>) {
    let _ = y.own();
}

fn main() {}
