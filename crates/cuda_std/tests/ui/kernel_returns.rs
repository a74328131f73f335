use cuda_std::prelude::*;

#[kernel]
pub fn sum(x: &[f32]) -> f32 {
    x[0]
}

fn main() {}
