//! Step 9: clusters of two blocks, which copy the columns' tile once for both.

// ANCHOR: kernel
use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling,
};

/// Columns of `a` and `b` in a stage: 128 bytes.
pub const DEPTH: u32 = 64;

// ANCHOR: parameters
/// c = a bᵀ, in tiles of 128 by 256, by any number of clusters.
#[kernel(block = 384, min_blocks = 1, cluster = 2)]
pub fn cluster(
    a: TensorMap<Swizzled<f16, 128, 64>>,
    b: TensorMap<Swizzled<f16, 128, 64>>,
    c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<128, 256, 1, 2>>,
    stages: TensorPipeline<(Swizzled<f16, 128, 64>, Multicast<Swizzled<f16, 256, 64>>), 4, 2, 2>,
    staging: TensorStaging<Swizzled<f16, 16, 64>, 2>,
) {
    // ANCHOR_END: parameters
    let steps = a.columns().div_ceil(DEPTH);
    let tiles = c.tiles();
    let places = tiles.places();
    stages.roles::<40, 232>(
        |producer| {
            for [row, column] in places {
                for step in 0..steps {
                    let k = step * DEPTH;
                    producer.acquire().fill(a.at([row, k]), b.at([column, k]));
                }
            }
        },
        // ANCHOR: consumer
        |consumer| {
            let first = 64 * consumer.rank();
            let mut sum = Accumulator::<256>::zero();
            let mut writer = staging.writer(consumer);
            for tile in tiles {
                sum.products(|products| {
                    products.add_all(consumer, steps, &mut writer, first);
                });
                writer.hold(tile, &sum);
            }
        },
        // ANCHOR_END: consumer
    );
}
// ANCHOR_END: kernel
