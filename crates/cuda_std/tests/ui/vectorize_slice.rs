use cuda_std::prelude::*;

#[vectorize]
pub fn square(x: &[f32]) -> f32 {
    x[0] * x[0]
}

fn main() {}
