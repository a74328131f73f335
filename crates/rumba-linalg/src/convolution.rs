//! Convolutions as products whose left operand is gathered from the image (implicit products).

use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Bands, Element, Im2colMap, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging,
};

const DEPTH: usize = 64;

/// What becomes of each number of a convolution's output, after the bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// The larger of the number and 0.
    Relu,
    /// `x / (1 + exp(-x))`, also called swish.
    Silu,
}
macro_rules! variant {
    ($name:ident, $block:literal, $cluster:literal, $rows:literal, $width:literal, $share:literal, $stages:literal, $groups:literal, $low:literal, $high:literal) => {
        #[kernel(arch = ["sm_90a"], block = $block, min_blocks = 1, cluster = $cluster, T = [f16, bf16])]
        pub fn $name<T: Element>(
            image: Im2colMap<Swizzled<T, $rows, 64>>,
            filter: TensorMap<Swizzled<T, $share, 64>>,
            bias: &[T],
            activation: u32,
            output: TensorOutput<Swizzled<T, 16, 32>>,
            stages: TensorPipeline<(Swizzled<T, $rows, 64>, Multicast<Swizzled<T, $width, 64>>), $stages, $groups, $cluster>,
            staging: TensorStaging<Swizzled<T, 16, 32>, $groups>,
        ) {
            image.prefetch();
            filter.prefetch();
            output.prefetch();
            let channels = image.channels();
            let [down, right] = image.taps();
            let depths = channels.div_ceil(DEPTH as u32);
            let steps = down * right * depths;
            let tiles = output.tiles::<$rows, $width, $cluster>(Bands(64));
            let places = tiles.places();
            stages.roles::<$low, $high>(
                |producer| {
                    for [row, column] in places {
                        let pixels = image.at(row);
                        for r in 0..down {
                            for s in 0..right {
                                let tap = (r * right + s) * channels;
                                for depth in 0..depths {
                                    let k = depth * DEPTH as u32;
                                    producer.acquire().fill(pixels.tap([r, s], k), filter.at([column, tap + k]));
                                }
                            }
                        }
                    }
                },
                |consumer| {
                    let first = 64 * consumer.rank();
                    let mut sum = Accumulator::<$width>::zero();
                    let mut writer = staging.writer(consumer);
                    for tile in tiles {
                        sum.products(|products| {
                            products.add_all(consumer, steps, &mut writer, |a, b| (a.rows(first), b));
                        });
                        if !bias.is_empty() {
                            let [_, start] = tile.place();
                            sum.map(|_, column, sum| sum + bias.get((start + column) as usize).map_or(0.0, |b| b.to_f32()));
                        }
                        writer.hold(tile, &sum);
                    }
                },
            );
        }
    };
}

