//! The cases, one file for each file of kernels-gpu. A new one is a `mod` line and a line in [`ALL`].

mod elementwise;
mod increment;
mod mandelbrot;
mod matmul;
mod reduce;
mod saxpy;
mod thread_indexing;

use crate::Case;

/// Every case.
pub const ALL: &[&Case] = &[
    &elementwise::ADD,
    &elementwise::MULTIPLY,
    &increment::F32,
    &increment::F64,
    &mandelbrot::CASE,
    &matmul::NAIVE,
    &matmul::TILED,
    &reduce::CASE,
    &saxpy::CASE,
    &thread_indexing::ONE,
    &thread_indexing::THREE,
    &thread_indexing::TWO,
];

/// Sizes at the edges of warps (32) and of blocks (256), and one of many blocks.
const EDGES: &[usize] = &[1, 31, 32, 33, 255, 256, 257, 10_000];

/// `n` numbers from -1 to 1, the same ones for the same seed.
fn uniform(n: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| 2.0 * random.f32() - 1.0).take(n).collect()
}
