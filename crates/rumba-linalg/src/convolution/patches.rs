//! The patches that a filter sees of images as the rows of a matrix, "im2col", so that a convolution is a product of matrices: Chellapilla,
//! Puri, Simard, "High Performance Convolutional Neural Networks for Document Processing", 2006.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use super::thread::Geometry;

/// Numbers of 16 bytes together.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Vector([u32; 4]);

/// A row for each place of the filter from `first` on, in the order of the output's pixels, of which there are `columns` beside each other.
/// `patches` is `[places, taps, channels]`. Outside of the image numbers are zero.
///
/// Numbers are copied by their bits. [`Vector`]s are for channels of a multiple of 16 bytes, which `geometry` then counts by vectors.
#[kernel(T = [u16, u32, Vector])]
pub fn convolution_patches<T: Pod>(
    image: &[T],
    geometry: Geometry,
    first: u64,
    columns: u32,
    mut patches: Disjoint<T, Array<3>>,
) {
    let Geometry {
        image: [height, width],
        channels,
        places: rows,
        taps: [_, across],
        stride,
        padding,
    } = geometry;
    patches.each(|[place, tap, channel], patch| {
        let place = first as usize + place;
        let (line, x) = (
            place / columns.max(1) as usize,
            (place % columns.max(1) as usize) as u32,
        );
        let (number, y) = (line / rows.max(1) as usize, (line % rows.max(1) as usize) as u32);
        let tap = tap as u32;
        // Before the first row or column there is a very large number, which is outside too.
        let row = (y * stride[0] + tap / across.max(1)).wrapping_sub(padding[0]);
        let column = (x * stride[1] + tap % across.max(1)).wrapping_sub(padding[1]);
        *patch = if row < height && column < width {
            let pixel = (number * height as usize + row as usize) * width as usize + column as usize;
            image[pixel * channels as usize + channel]
        } else {
            T::zeroed()
        };
    });
}
