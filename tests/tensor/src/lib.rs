//! Products `c = a bᵀ` of matrices with numbers of 16 bits, by warp groups: one source for each size of problem.
//!
//! A block computes tiles of `c`, one after the other. Its first warp group has one thread that brings tiles of `a` and of `b`
//! by tensor copies, [`DEPTH`] columns at a time, into stages that the other warp groups multiply; `cuda_std::tensor` says
//! how the stages go to and fro. A tile that is done is written while the next one is being computed. Blocks of a cluster have
//! tiles one below the other, and copy the columns' tile of `b` once for both.

#![no_std]

use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Bands, Element, Multicast, Stored, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging,
};

/// Columns of `a` and `b` in a stage: rows of 128 bytes.
pub const DEPTH: usize = 64;

/// For large products: tiles of 128 by 256, by two warp groups, in clusters of two.
#[kernel(block = 384, min_blocks = 1, cluster = 2, T = [f16, bf16])]
pub fn product_large<T: Element + Stored<f32>>(
    a: TensorMap<Swizzled<T, 128, DEPTH>>,
    b: TensorMap<Swizzled<T, 128, DEPTH>>,
    c: TensorOutput<Swizzled<T, 16, 64>>,
    stages: TensorPipeline<(Swizzled<T, 128, DEPTH>, Multicast<Swizzled<T, 256, DEPTH>>), 4, 2, 2>,
    staging: TensorStaging<Swizzled<T, 16, 64>, 2>,
) {
    a.prefetch();
    b.prefetch();
    c.prefetch();
    let steps = a.columns().div_ceil(DEPTH as u32);
    let tiles = c.tiles::<128, 256, 2>(Bands(8));
    let places = tiles.places();
    stages.roles::<40, 232>(
        |producer| {
            for [row, column] in places {
                for step in 0..steps {
                    let k = step * DEPTH as u32;
                    producer.acquire().fill(a.at([row, k]), b.at([column, k]));
                }
            }
        },
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
    );
}

/// For small products: tiles of 64 by 128, by one warp group, in clusters of two.
#[kernel(block = 256, min_blocks = 1, cluster = 2, T = [f16, bf16])]
pub fn product_small<T: Element + Stored<f32>>(
    a: TensorMap<Swizzled<T, 64, DEPTH>>,
    b: TensorMap<Swizzled<T, 64, DEPTH>>,
    c: TensorOutput<Swizzled<T, 16, 64>>,
    stages: TensorPipeline<(Swizzled<T, 64, DEPTH>, Multicast<Swizzled<T, 128, DEPTH>>), 8, 1, 2>,
    staging: TensorStaging<Swizzled<T, 16, 64>, 1>,
) {
    a.prefetch();
    b.prefetch();
    c.prefetch();
    let steps = a.columns().div_ceil(DEPTH as u32);
    let tiles = c.tiles::<64, 128, 2>(Bands(16));
    let places = tiles.places();
    stages.roles::<40, 232>(
        |producer| {
            for [row, column] in places {
                for step in 0..steps {
                    let k = step * DEPTH as u32;
                    producer.acquire().fill(a.at([row, k]), b.at([column, k]));
                }
            }
        },
        |consumer| {
            let mut sum = Accumulator::<128>::zero();
            let mut writer = staging.writer(consumer);
            for tile in tiles {
                sum.products(|products| {
                    for _ in 0..steps {
                        products.add(consumer.wait(), |a, b| (a, b));
                    }
                });
                // An epilogue: any function of row, column and sum.
                sum.map(|_, _, sum| sum * 0.5);
                writer.hold(tile, &sum);
            }
        },
    );
}
