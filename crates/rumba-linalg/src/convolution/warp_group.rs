//! By warp groups, as products whose left operand tensor copies gather from the image (implicit products): compute capability 9.0.
//!
//! A pixel has a multiple of eight channels, and the output too: rows begin at multiples of 16 bytes.

use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Columns, Element, Im2colMap, MatrixOutput, Multicast, Stored, Swizzled, TensorExchange, TensorMap,
    TensorOutput, TensorPipeline, TensorStaging, Tiling, Width, convolution,
};

use crate::product::{Activation, Curve, Output};

/// Channels of a step: rows of 128 bytes.
const DEPTH: usize = 64;

/// Columns of tiles that are computed together: the filter's stay in the cache.
const BAND: u32 = 64;

/// The number that a bias has for an output.
#[inline(always)]
fn number<T: Output<f32>>(bias: &[T], output: u32) -> f32 {
    bias.get(output as usize).map_or(0.0, |number| number.number())
}

/// Adds the bias of the outputs from `first` on and applies the activation: what need not be done is asked once, not for each sum.
#[inline(always)]
fn finish<T: Output<f32>, const WIDTH: usize>(
    sums: &mut Accumulator<WIDTH>,
    first: u32,
    bias: &[T],
    activation: Activation,
) where
    Columns<WIDTH>: Width,
{
    if !bias.is_empty() {
        sums.map(|_, column, sum| sum + number(bias, first + column));
    }
    let curve = Curve::of(activation);
    if curve.is_smooth {
        sums.map(|_, _, sum| curve.smooth(sum));
    } else if activation != Activation::Identity {
        sums.map(|_, _, sum| curve.straight(sum));
    }
}

/// A kernel for each size of tiles: so many places by so many outputs. Blocks have a consumer for each 64 places; the two blocks of
/// a cluster have the same outputs, and copy half of the filter's tile each. The bias has a number for each output, or none.
macro_rules! convolutions {
    ($(
        $(#[$doc:meta])*
        $name:ident: $rows:literal x $width:literal, half $half:literal, $groups:literal consumers, block $block:literal,
        $stages:literal stages;
    )*) => {$(
        $(#[$doc])*
        #[kernel(arch = ["sm_90a"], block = $block, min_blocks = 1, cluster = 2, fast_math, T = [f16, bf16])]
        pub fn $name<T: Element + Stored<f32> + Output<f32>>(
            images: Im2colMap<Swizzled<T, $rows, DEPTH>>,
            filter: TensorMap<Swizzled<T, $half, DEPTH>>,
            bias: &[T],
            activation: Activation,
            output: TensorOutput<Swizzled<T, 16, 32>, Tiling<$rows, $width, BAND, 2>>,
            stages: TensorPipeline<
                (Swizzled<T, $rows, DEPTH>, Multicast<Swizzled<T, $width, DEPTH>>), $stages, $groups, 2,
            >,
            staging: TensorStaging<Swizzled<T, 16, 32>, $groups>,
        ) {
            images.prefetch();
            filter.prefetch();
            output.prefetch();
            let channels = images.channels();
            let [down, right] = images.taps();
            let depths = channels.div_ceil(DEPTH as u32);
            let steps = down * right * depths;
            let tiles = output.tiles();
            let places = tiles.places();
            // SAFETY: all threads of the grid come here, with tiles and steps of the same parameters. A pixel's channels have a multiple of 16
            // bytes, so that those of a step and the columns of a tap begin at such.
            let stages = unsafe { stages.assume_infallible() };
            stages.roles::<56, 216>(
                |producer| {
                    for [row, column] in places {
                        let pixels = images.at(row);
                        let mut tap = 0;
                        for r in 0..down {
                            for s in 0..right {
                                for depth in 0..depths {
                                    let k = depth * DEPTH as u32;
                                    producer.acquire().fill(pixels.tap([r, s], k), filter.at([column, tap + k]));
                                }
                                tap += channels;
                            }
                        }
                    }
                },
                |consumer| {
                    let first = 64 * consumer.rank();
                    let mut sums = Accumulator::<$width>::zero();
                    let mut writer = staging.writer(consumer);
                    for tile in tiles {
                        sums.products(|products| products.add_all(consumer, steps, &mut writer, first));
                        let [_, column] = tile.place();
                        finish(&mut sums, column, bias, activation);
                        writer.hold(tile, &sums);
                    }
                },
            );
        }
    )*};
}

convolutions! {
    /// 128 places by 256 outputs.
    convolution_256: 128 x 256, half 128, 2 consumers, block 384, 4 stages;
    /// 128 places by 160 outputs.
    convolution_160: 128 x 160, half 80, 2 consumers, block 384, 5 stages;
    /// 128 places by 128 outputs.
    convolution_128: 128 x 128, half 64, 2 consumers, block 384, 6 stages;
    /// 128 places by 64 outputs.
    convolution_64: 128 x 64, half 32, 2 consumers, block 384, 8 stages;
    /// 64 places by 160 outputs.
    convolution_small: 64 x 160, half 80, 1 consumers, block 256, 7 stages;
}

/// The kernels for few tiles with long sums: each block of a cluster computes a part of a tile's sums.
macro_rules! sliced {
    ($($(#[$doc:meta])* $name:ident: 128 x $width:literal, $slices:literal slices, $stages:literal stages;)*) => {$(
        $(#[$doc])*
        #[kernel(arch = ["sm_90a"], block = 384, min_blocks = 1, cluster = $slices, fast_math, T = [f16, bf16])]
        pub fn $name<T: Element + Stored<f32> + Output<f32>>(
            images: Im2colMap<Swizzled<T, 128, DEPTH>>,
            filter: TensorMap<Swizzled<T, $width, DEPTH>>,
            bias: &[T],
            activation: Activation,
            output: MatrixOutput<T, Tiling<128, $width, BAND, 1, 1, $slices>>,
            stages: TensorPipeline<(Swizzled<T, 128, DEPTH>, Swizzled<T, $width, DEPTH>), $stages, 2, $slices>,
            exchange: TensorExchange<128, $width, $slices>,
        ) {
            let curve = Curve::of(activation);
            convolution((images, filter), stages, (output, exchange), |_, output, sum| {
                let sum = sum + number(bias, output);
                if curve.is_smooth {
                    curve.smooth(sum)
                } else {
                    curve.straight(sum)
                }
            });
        }
    )*};
}

sliced! {
    /// 128 places by 160 outputs, in three parts.
    convolution_160_by_3: 128 x 160, 3 slices, 4 stages;
    /// 128 places by 128 outputs, in two parts.
    convolution_128_by_2: 128 x 128, 2 slices, 5 stages;
}
