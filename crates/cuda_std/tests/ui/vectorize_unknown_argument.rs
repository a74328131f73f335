use cuda_std::prelude::*;

#[vectorize(target = "cuda")]
pub fn square(x: f32) -> f32 {
    x * x
}

fn main() {}
