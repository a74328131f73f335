use cuda_std::prelude::*;

#[vectorize]
pub fn add(a: f32, b: f32) -> f32 {
    a + b
}

fn main() {
    let _ = add::over(&[1.0_f32, 2.0], &[1.0_f64, 2.0]);
}
