use cuda_std::prelude::*;

#[vectorize]
pub unsafe fn square(x: f32) -> f32 {
    x * x
}

fn main() {}
