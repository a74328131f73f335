use cuda_std::prelude::*;

#[vectorize]
pub fn add(a: f32, b: f32) -> f32 {
    a + b
}

fn main() {
    let _ = add(&[1.0_f32, 2.0], &[3.0_f32, 4.0]);
}
