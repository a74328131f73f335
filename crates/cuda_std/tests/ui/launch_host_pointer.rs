use cuda_std::prelude::*;

/// # Safety
///
/// `y` is valid on the device.
#[kernel]
pub unsafe fn fill(y: *mut f32) {
    let _ = y;
}

fn main() {
    let mut value = 0.0_f32;
    let _ = unsafe { fill(&raw mut value) };
}
