#![deny(unused_must_use)]

use cuda_std::prelude::*;

#[vectorize]
pub fn square(x: f32) -> f32 {
    x * x
}

fn main() {
    square::over(&[1.0_f32, 2.0]);
}
