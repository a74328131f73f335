//! Rust: memory that the kernel allocates.

use cuda_std::prelude::*;

#[kernel]
pub fn sort(mut y: DisjointSlice<f32>) {
    let mut own: Vec<f32> = Vec::new();
    let other = vec![0.0_f32; 8];
    let boxed = Box::new(1.0_f32);
}
