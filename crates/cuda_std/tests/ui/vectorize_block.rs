use cuda_std::prelude::*;

#[vectorize(block = 128)]
pub fn square(x: f32) -> f32 {
    x * x
}

fn main() {}
