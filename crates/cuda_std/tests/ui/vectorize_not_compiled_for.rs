use core::ops::Mul;

use cuda_std::prelude::*;

#[vectorize(T = [f32, f64])]
pub fn square<T: Mul<Output = T> + Copy>(x: T) -> T {
    x * x
}

fn main() {
    let _ = square::over(&[1_i32, 2, 3]);
}
