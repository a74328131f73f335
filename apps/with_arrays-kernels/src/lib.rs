//! The kernels of the programs.
#![no_std]

use cuda_std::prelude::*;

// ANCHOR: brightness
/// The brightness of each pixel.
#[kernel]
pub fn brightness(pixels: &[[u8; 3]], mut grey: DisjointSlice<u8>) {
    let i = grid::<1>();
    if let Some(grey) = grey.get_mut(i) {
        let [red, green, blue] = pixels[i].map(u32::from);
        *grey = ((77 * red + 150 * green + 29 * blue) >> 8) as u8;
    }
}
// ANCHOR_END: brightness

// ANCHOR: scale
/// Multiplies each element.
#[kernel]
pub fn scale(factor: f32, mut x: DisjointSlice<f32>) {
    if let Some(x) = x.get_mut(grid::<1>()) {
        *x *= factor;
    }
}
// ANCHOR_END: scale
