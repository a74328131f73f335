//! Operators made of functions, with 4 and with 8 bytes.

use cuda_std::reduction;

/// The number with the larger absolute value.
#[reduction]
pub fn further(a: f32, b: f32) -> f32 {
    if a.abs() >= b.abs() { a } else { b }
}

/// Affine functions, as offset and factor, one after the other: associative, but the order matters.
#[reduction]
pub fn then(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    let offset = b[0].wrapping_add(b[1].wrapping_mul(a[0]));
    [offset, a[1].wrapping_mul(b[1])]
}
