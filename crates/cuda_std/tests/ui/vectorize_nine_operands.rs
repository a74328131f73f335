use cuda_std::prelude::*;

#[vectorize]
#[allow(clippy::too_many_arguments)]
pub fn sum(a: f32, b: f32, c: f32, d: f32, e: f32, f: f32, g: f32, h: f32, i: f32) -> f32 {
    a + b + c + d + e + f + g + h + i
}

fn main() {}
