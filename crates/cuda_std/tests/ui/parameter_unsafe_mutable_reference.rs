use cuda_std::prelude::*;

/// # Safety
/// None.
#[kernel]
pub unsafe fn advance(state: &mut [f32; 4]) {
    let _ = state;
}

fn main() {}
