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
    let columns = columns.max(1) as usize;
    patches.each(|[place, tap, channel], patch| {
        let place = first as usize + place;
        let pixel = geometry.pixel(place / columns, (place % columns) as u32, tap as u32);
        *patch = pixel.map_or(T::zeroed(), |pixel| image[pixel * geometry.channels as usize + channel]);
    });
}
