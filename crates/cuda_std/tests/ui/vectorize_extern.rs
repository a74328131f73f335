use cuda_std::prelude::*;

#[vectorize]
pub extern "C" fn square(x: f32) -> f32 {
    x * x
}

fn main() {}
