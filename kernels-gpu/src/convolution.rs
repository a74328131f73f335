//! Convolution of an image with a small filter: each pixel becomes a weighted sum of the pixels around it.
//!
//! Each pixel is read for 25 results. The block reads its tile of the image and two pixels around it into shared memory
//! once: a halo. The weights are passed by value: they lie in constant memory, which all threads read at the same time.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;
use cuda_std::view::View2;

/// How far the filter reaches to each side.
pub const RADIUS: usize = 2;
/// Rows and columns of the filter.
pub const SIDE: usize = 2 * RADIUS + 1;
/// Columns and rows of a block's tile, and threads along x.
pub const TILE: usize = 32;

/// The weights, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Filter(pub [[f32; SIDE]; SIDE]);

/// `output[y][x]` is the sum of `filter[j][i] * image[y + j - 2][x + i - 2]`; pixels outside of the image are 0.
///
/// Launch it in two dimensions with blocks of 32 by 8 threads, one for each [`TILE`] by [`TILE`] pixels.
#[kernel(block = (32, 8))]
pub fn convolution(
    image: &[f32],
    filter: Filter,
    mut output: Disjoint<f32, Tiles<TILE, TILE>>,
    mut tile: Shared<Tile2<f32, { TILE + 2 * RADIUS }, { TILE + 2 * RADIUS }>>,
) {
    let image = View2::new(image, [output.rows(), output.columns()]);
    let [top, left] = output.tile_start();
    tile.part().each(|[y, x], own| {
        // Before the first row or column there is a very large number, which is outside too.
        let (row, column) = ((top + y).wrapping_sub(RADIUS), (left + x).wrapping_sub(RADIUS));
        *own = image.get([row, column]).copied().unwrap_or(0.0);
    });
    let tile = tile.sync();
    output.each(|place, output| {
        let [y, x] = place.in_tile;
        let mut sum = 0.0;
        for (j, weights) in filter.0.iter().enumerate() {
            for (i, weight) in weights.iter().enumerate() {
                sum += weight * tile[y + j][x + i];
            }
        }
        *output = sum;
    });
}
