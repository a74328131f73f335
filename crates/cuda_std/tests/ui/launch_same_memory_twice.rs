use cuda_std::prelude::*;

#[kernel]
pub fn copy(x: &[f32], mut y: DisjointSlice<f32>) {
    let _ = (x, y.own());
}

fn main() {
    let mut x = vec![0.0_f32; 4];
    let _call = copy(&x, &mut x);
}
