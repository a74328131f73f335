use cuda_std::prelude::*;

#[vectorize]
pub fn square(x: f32) {
    let _ = x * x;
}

fn main() {}
