use cuda_std::prelude::*;

#[kernel]
pub async fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
