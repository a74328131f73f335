use cuda_std::prelude::*;

#[vectorize]
pub fn square(x: *const f32) -> f32 {
    let _ = x;
    0.0
}

fn main() {}
