use cuda_std::prelude::*;

#[vectorize]
pub fn is_positive(x: f32) -> bool {
    x > 0.0
}

fn main() {}
