//! The Mandelbrot set: for each pixel, how long a point takes to escape.
//!
//! Nothing is read, everything is computed, and neighbouring threads leave the loop at different
//! times: a warp goes on until its last thread is done.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// The part of the complex plane that the image shows; passed to the kernel by value.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Region {
    /// Real part of the left edge.
    pub left: f32,
    /// Imaginary part of the upper edge.
    pub top: f32,
    /// Distance of two pixels, to the right and downwards.
    pub step: f32,
}

/// `iterations[y][x]` is the number of steps after which the point of that pixel has left the circle
/// of radius 2, or `limit` if it has not by then.
///
/// Launch it in two dimensions, with at least as many threads as pixels.
#[kernel]
pub fn mandelbrot(region: Region, limit: u32, mut iterations: Disjoint<u32, PerThread<2>>) {
    let i = grid::<2>();
    if let Some(count) = iterations.get_mut(i) {
        let re = region.left + i.x() as f32 * region.step;
        let im = region.top - i.y() as f32 * region.step;
        *count = escape(re, im, limit);
    }
}

/// Steps of `z = z² + c` from 0 until `|z| > 2`, at most `limit`.
///
/// A function like any other: the host calls it too, to check the image.
#[must_use]
pub fn escape(re: f32, im: f32, limit: u32) -> u32 {
    let (mut x, mut y) = (0.0_f32, 0.0_f32);
    let mut count = 0;
    while count < limit && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
        count += 1;
    }
    count
}
