//! For products with few tiles: smaller ones, and two blocks on a multiprocessor.

// ANCHOR: kernel
use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling, product};

/// c = a bᵀ, in tiles of 64 by 128, by any number of blocks.
#[kernel(block = 256, min_blocks = 2)]
pub fn small(
    a: TensorMap<Swizzled<f16, 64, 64>>,
    b: TensorMap<Swizzled<f16, 128, 64>>,
    c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<64, 128, 16>>,
    stages: TensorPipeline<(Swizzled<f16, 64, 64>, Swizzled<f16, 128, 64>), 4, 1>,
    staging: TensorStaging<Swizzled<f16, 16, 64>, 1>,
) {
    product((a, b), stages, (c, staging), |_, sum: f32| sum);
}
// ANCHOR_END: kernel
