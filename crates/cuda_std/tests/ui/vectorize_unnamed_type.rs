use core::ops::Mul;

use cuda_std::prelude::*;

#[vectorize]
pub fn square(x: impl Mul<Output = f32> + Copy) -> f32 {
    x * x
}

fn main() {}
