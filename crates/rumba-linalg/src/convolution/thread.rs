//! By threads, one for each element of the output, through shared memory: any device, any type, any number of channels.

use bytemuck::{Pod, Zeroable};
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::view::View2;

use crate::product::{Activation, Output, Real};

/// Rows and columns of a block's threads, and of the tiles of a step.
pub const TILE: usize = 16;

/// Images, and how a filter goes over them.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Geometry {
    /// Rows and columns of an image.
    pub image: [u32; 2],
    /// Channels of a pixel.
    pub channels: u32,
    /// Rows of the output of an image.
    pub places: u32,
    /// Rows and columns of a filter.
    pub taps: [u32; 2],
    /// How far the filter moves down and to the right.
    pub stride: [u32; 2],
    /// Rows and columns of zeros around an image.
    pub padding: [u32; 2],
}

impl Geometry {
    /// The index of the pixel that `tap` of the filter sees for the output's place `x` in `line`, of the rows of all images below each
    /// other. None where that is outside of the image, among the zeros around it.
    #[inline(always)]
    pub fn pixel(&self, line: usize, x: u32, tap: u32) -> Option<usize> {
        let [height, width] = self.image;
        let (number, y) = (line / self.places.max(1) as usize, (line % self.places.max(1) as usize) as u32);
        let across = self.taps[1].max(1);
        // Before the first row or column there is a very large number, which is outside too.
        let row = (y * self.stride[0] + tap / across).wrapping_sub(self.padding[0]);
        let column = (x * self.stride[1] + tap % across).wrapping_sub(self.padding[1]);
        (row < height && column < width)
            .then(|| (number * height as usize + row as usize) * width as usize + column as usize)
    }
}

/// The output has a layer for each row of each image, a row for each place in it, and a column for each filter. `outputs` is their
/// number. The bias has a number for each filter, or none.
///
/// Step by step along the sum, each thread of a block brings a number of the image, for one of 16 places, and one of the filters.
#[kernel(block = (16, 16), T = [f16, bf16, f32])]
pub fn convolution_threads<T: Output<f32>>(
    image: &[T],
    filter: &[T],
    bias: &[T],
    geometry: Geometry,
    outputs: u32,
    activation: Activation,
    mut output: Disjoint<T, PerThread<3>>,
    mut tiles: Shared<(Tile2<f32, TILE, TILE>, Tile2<f32, TILE, TILE, 1>)>,
) {
    let i = grid::<3>();
    let (line, place, filter_index) = (i.z(), i.y() as u32, i.x());
    let (y, x) = (thread::thread_idx_y() as usize, thread::thread_idx_x() as usize);
    let Geometry { channels, taps: [down, right], .. } = geometry;
    let inner = down * right * channels;
    let filters = View2::new(filter, [outputs as usize, inner as usize]);
    let block_filter = filter_index - x;
    let mut sum = 0.0;
    for start in (0..inner).step_by(TILE) {
        let (image_own, filter_own) = tiles.own();
        let k = start + x as u32;
        let (tap, channel) = (k / channels.max(1), k % channels.max(1));
        let pixel = if k < inner { geometry.pixel(line, place, tap) } else { None };
        *image_own = pixel
            .and_then(|pixel| image.get(pixel * channels as usize + channel as usize))
            .map_or(0.0, |number| number.number());
        *filter_own = filters.get([block_filter + y, k as usize]).map_or(0.0, |number| number.number());
        let loaded = tiles.sync();
        let (image_tile, filter_tile) = loaded.get();
        for k in 0..TILE {
            sum += image_tile[y][k] * filter_tile[x][k];
        }
        tiles = loaded.sync();
    }
    let bias = bias.get(filter_index).map_or(0.0, |number| number.number());
    if let Some(output) = output.get_mut(i) {
        *output = T::of((sum + bias).activated(activation));
    }
}
