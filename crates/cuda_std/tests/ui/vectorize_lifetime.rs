use cuda_std::prelude::*;

#[vectorize]
pub fn square<'a>(x: f32) -> f32 {
    x * x
}

fn main() {}
