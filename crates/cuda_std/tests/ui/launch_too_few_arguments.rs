use cuda_std::prelude::*;

#[kernel]
pub fn copy(x: &[f32], mut y: DisjointSlice<f32>) {
    let _ = (x, y.own());
}

fn main() {
    let x = vec![0.0_f32; 4];
    let _ = copy(&x);
}
