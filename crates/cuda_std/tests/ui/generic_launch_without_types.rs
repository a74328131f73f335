use cuda_std::prelude::*;

#[kernel(N = [1, 2])]
pub fn fill<const N: usize>(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {
    let _ = fill(&mut [0.0_f32; 8]);
}
