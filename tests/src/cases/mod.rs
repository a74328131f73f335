//! The cases, one file for each file of kernels-gpu. A new one is a `mod` line and a line in [`ALL`].

mod black_scholes;
mod convolution;
mod elementwise;
mod histogram;
mod increment;
mod kmeans;
mod laplace;
mod mandelbrot;
mod matmul;
mod matmul_mma;
mod nbody;
mod pi;
mod radix_sort;
mod reduce;
mod saxpy;
mod scan;
mod softmax;
mod spmv;
mod thread_indexing;
mod transpose;

use crate::Case;
use anyhow::{Result, bail};

/// Every case.
pub const ALL: &[&Case] = &[
    &black_scholes::CASE,
    &convolution::CASE,
    &elementwise::ADD,
    &elementwise::MULTIPLY,
    &histogram::CASE,
    &increment::F32,
    &increment::F64,
    &kmeans::CASE,
    &laplace::THREE,
    &laplace::TWO,
    &mandelbrot::CASE,
    &matmul::NAIVE,
    &matmul::TILED,
    &matmul_mma::CASE,
    &nbody::CASE,
    &pi::CASE,
    &radix_sort::CASE,
    &reduce::CASE,
    &saxpy::CASE,
    &scan::CASE,
    &softmax::LAYER_NORM,
    &softmax::SOFTMAX,
    &spmv::CASE,
    &thread_indexing::ONE,
    &thread_indexing::THREE,
    &thread_indexing::TWO,
    &transpose::CASE,
];

/// The cases that words choose: those with one of them in their names, or all where there are no words.
///
/// # Errors
/// No case has such a name.
pub fn chosen(words: &[String]) -> Result<Vec<&'static Case>> {
    let chosen: Vec<&Case> = ALL.iter().copied().filter(|case| is_chosen(case.name, words)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|case| case.name).collect();
        bail!("no case has `{}` in its name; there are: {}", words.join("` or `"), names.join(", "));
    }
    Ok(chosen)
}

/// Whether words choose what has this name.
pub fn is_chosen(name: &str, words: &[String]) -> bool {
    words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
}

/// Sizes at the edges of warps (32) and of blocks (256), and one of many blocks.
const EDGES: &[usize] = &[1, 31, 32, 33, 255, 256, 257, 10_000];

/// `n` numbers from -1 to 1, the same ones for the same seed.
fn uniform(n: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| 2.0 * random.f32() - 1.0).take(n).collect()
}

/// `n` numbers of 32 bits, the same ones for the same seed.
fn integers(n: usize, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u32(..)).take(n).collect()
}
