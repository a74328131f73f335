use core::ops::Mul;

use cuda_std::prelude::*;

#[vectorize]
pub fn square<T: Mul<Output = T> + Copy>(x: T) -> T {
    x * x
}

fn main() {}
