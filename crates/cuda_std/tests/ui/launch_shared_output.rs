use cuda_std::prelude::*;

#[kernel]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {
    let y = vec![0.0_f32; 4];
    let _ = fill(&y);
}
