//! A slice that a static keeps would be read after its launch.
use cuda_std::prelude::*;

use once_cell::race::OnceRef;


static KEPT: OnceRef<'static, f32> = OnceRef::new();

#[kernel]
pub fn keep(x: &[f32]) {
    let _ = KEPT.set(&x[0]);
}

fn main() {}
