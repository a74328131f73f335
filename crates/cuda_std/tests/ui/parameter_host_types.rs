use cuda_std::prelude::*;

#[kernel]
pub fn host_types(a: Vec<f32>, b: String, c: &str, d: Option<u32>, e: (f32, f32), f: fn(f32) -> f32, g: impl Copy) {
    let _ = (a, b, c, d, e, f, g);
}

fn main() {}
