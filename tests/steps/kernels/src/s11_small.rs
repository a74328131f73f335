//! For products with few tiles: smaller ones, and two blocks on a multiprocessor.

// ANCHOR: kernel
use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{Bands, Grouping, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, product};

/// c = a bᵀ, in tiles of 64 by 128, by any number of blocks.
#[kernel(block = 256, min_blocks = 2)]
pub fn small(
    a: TensorMap<Swizzled<f16, 64, 64>>,
    b: TensorMap<Swizzled<f16, 128, 64>>,
    c: TensorOutput<Swizzled<f16, 16, 64>>,
    stages: TensorPipeline<(Swizzled<f16, 64, 64>, Swizzled<f16, 128, 64>), 4, 1>,
    staging: TensorStaging<Swizzled<f16, 16, 64>, 1>,
) {
    let order = (Bands(16), Grouping { down: 1, across: 1 });
    product((a, b), stages, (c, staging), order, |_, sum: f32| sum);
}
// ANCHOR_END: kernel
