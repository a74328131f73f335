//! Step 6: five stages, so that copies go on while the warp group multiplies.

// ANCHOR: kernel
use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{Accumulator, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling};

/// Columns of `a` and `b` in a stage: 128 bytes.
pub const DEPTH: u32 = 64;

// ANCHOR: parameters
/// c = a bᵀ, a tile of 64 by 256 for each block.
#[kernel(block = 256, min_blocks = 1)]
pub fn queue(
    a: TensorMap<Swizzled<f16, 64, 64>>,
    b: TensorMap<Swizzled<f16, 256, 64>>,
    c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<64, 256>>,
    stages: TensorPipeline<(Swizzled<f16, 64, 64>, Swizzled<f16, 256, 64>), 5, 1>,
    staging: TensorStaging<Swizzled<f16, 16, 64>, 1>,
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
            let mut sum = Accumulator::<256>::zero();
            let mut writer = staging.writer(consumer);
            for tile in tiles {
                sum.products(|products| {
                    for _ in 0..steps {
                        products.add(consumer.wait(), |a, b| (a, b));
                    }
                });
                writer.hold(tile, &sum);
                writer.write();
            }
        },
        // ANCHOR_END: consumer
    );
}
// ANCHOR_END: kernel
