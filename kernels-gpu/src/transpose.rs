//! Transposition: rows become columns, by the library's algorithm.
//!
//! Neighbouring threads should read neighbouring elements and write neighbouring elements, which cannot both be so if each
//! thread writes what it has read. [`cuda_std::algorithms::transpose`] takes a tile of the matrix through shared memory, so that
//! both go along rows; its source, `crates/cuda_std/src/algorithms/transpose.rs`, is 16 lines. A kernel makes such an algorithm
//! its own by saying for which type it is and what its memory is: the output is given out in tiles, one for each block, and the
//! tile in shared memory is a parameter that the host does not pass. `rumba::algorithms` launches the same algorithm for any
//! element of 4 or 8 bytes (chapter "Algorithms" of the book).

use cuda_std::algorithms::TransposeOutput;
pub use cuda_std::algorithms::{TRANSPOSE_BLOCK as BLOCK, TRANSPOSE_TILE as TILE};
use cuda_std::prelude::*;

/// `output[x][y] = input[y][x]`
///
/// Launch it in two dimensions with blocks of [`BLOCK`] threads, one for each tile of the input: x for columns, y for rows.
#[kernel(block = (64, 8))]
pub fn transpose(input: &[f32], output: TransposeOutput<f32>, tile: Shared<Tile2<f32, TILE, { TILE + 1 }>>) {
    cuda_std::algorithms::transpose(input, output, tile);
}
