use cuda_std::prelude::*;

#[kernel]
pub fn fill(y: *mut f32) {
    let _ = y;
}

fn main() {}
