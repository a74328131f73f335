//! The transpose of a matrix. [`cuda_std::algorithms::transpose`] documents the arguments of a launch.

use bytemuck::Pod;
use cuda_std::algorithms::TransposeOutput;
pub use cuda_std::algorithms::{TRANSPOSE_BLOCK as BLOCK, TRANSPOSE_TILE as TILE};
use cuda_std::prelude::*;

/// `output[x][y] = input[y][x]`
#[kernel(T = [u32, u64], block = (64, 8))]
pub fn transpose<T: Pod>(input: &[T], output: TransposeOutput<T>, tile: Shared<Tile2<T, TILE, { TILE + 1 }>>) {
    cuda_std::algorithms::transpose(input, output, tile);
}
