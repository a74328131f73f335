use cuda_std::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    let _ = (factor, y.own());
}

fn main() {
    let mut y = vec![0.0_f32; 4];
    let _ = scale(2.0_f64, &mut y);
}
