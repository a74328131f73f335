use cuda_std::prelude::*;

#[vectorize]
pub fn seven() -> f32 {
    7.0
}

fn main() {}
