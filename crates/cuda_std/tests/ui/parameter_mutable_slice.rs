use cuda_std::prelude::*;

#[kernel]
pub fn increment(a: &mut [f32]) {
    a[0] += 1.0;
}

fn main() {}
