use cuda_std::prelude::*;

#[vectorize]
pub fn add(a: f32, b: &f32) -> f32 {
    a + b
}

fn main() {}
