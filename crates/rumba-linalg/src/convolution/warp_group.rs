//! By warp groups, as products whose left operand tensor copies gather from the image (implicit products): compute capability 9.0.
//!
//! A row of the left operand is what the filter sees at one place, a row of the right one a filter. A step of the sum is 64
//! channels of one tap. A pixel has a multiple of eight channels; where they are not a multiple of 64, the copies of the image
//! read zeros, against which it does not matter what those of the filter read: the next tap, or zeros behind the last.

use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Bands, Columns, Element, Im2colMap, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline,
    TensorStaging, Width,
};

use crate::product::{Activation, Output, Real};

/// Channels of a step: rows of 128 bytes.
const DEPTH: usize = 64;

/// A kernel for each size of tiles: so many places by so many filters. Blocks have a consumer for each 64 places; the two blocks of
/// a cluster have the same filters, and copy half of them each.
///
/// The bias has a number for each filter, or none.
macro_rules! convolutions {
    ($(
        $(#[$doc:meta])*
        $name:ident: $rows:literal x $width:literal, half $half:literal, $groups:literal consumers, block $block:literal,
        $stages:literal stages, registers $low:literal $high:literal;
    )*) => {$(
        $(#[$doc])*
        #[kernel(arch = ["sm_90a"], block = $block, min_blocks = 1, cluster = 2, fast_math, T = [f16, bf16])]
        pub fn $name<T: Element + Output<f32>>(
            image: Im2colMap<Swizzled<T, $rows, DEPTH>>,
            filter: TensorMap<Swizzled<T, $half, DEPTH>>,
            bias: &[T],
            activation: Activation,
            output: TensorOutput<Swizzled<T, 16, 32>>,
            stages: TensorPipeline<
                (Swizzled<T, $rows, DEPTH>, Multicast<Swizzled<T, $width, DEPTH>>), $stages, $groups, 2,
            >,
            staging: TensorStaging<Swizzled<T, 16, 32>, $groups>,
        ) {
            image.prefetch();
            filter.prefetch();
            output.prefetch();
            let channels = image.channels();
            let [down, right] = image.taps();
            let depths = channels.div_ceil(DEPTH as u32);
            let steps = down * right * depths;
            let tiles = output.tiles::<$rows, $width, 2>(Bands(64));
            let places = tiles.places();
            stages.roles::<$low, $high>(
                |producer| {
                    for [row, column] in places {
                        let pixels = image.at(row);
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
                    let mut sum = Accumulator::<$width>::zero();
                    let mut writer = staging.writer(consumer);
                    for tile in tiles {
                        sum.products(|products| {
                            products.add_all(consumer, steps, &mut writer, |a, b| (a.rows(first), b));
                        });
                        let [_, column] = tile.place();
                        finish(&mut sum, column, bias, activation);
                        writer.hold(tile, &sum);
                    }
                },
            );
        }
    )*};
}

convolutions! {
    /// 128 places by 256 filters.
    convolution_256: 128 x 256, half 128, 2 consumers, block 384, 4 stages, registers 56 224;
    /// 128 places by 160 filters.
    convolution_160: 128 x 160, half 80, 2 consumers, block 384, 5 stages, registers 56 224;
    /// 128 places by 128 filters.
    convolution_128: 128 x 128, half 64, 2 consumers, block 384, 6 stages, registers 56 224;
    /// 128 places by 64 filters.
    convolution_64: 128 x 64, half 32, 2 consumers, block 384, 8 stages, registers 56 224;
    /// 64 places by 160 filters.
    convolution_small: 64 x 160, half 80, 1 consumers, block 256, 7 stages, registers 56 224;
}

/// Adds the bias of the filters from `column` on, and applies the activation.
#[inline(always)]
fn finish<T: Output<f32>, const WIDTH: usize>(
    sum: &mut Accumulator<WIDTH>,
    column: u32,
    bias: &[T],
    activation: Activation,
) where
    Columns<WIDTH>: Width,
{
    if !bias.is_empty() {
        let number = |i: u32| bias.get((column + i) as usize).map_or(0.0, |number| number.number());
        sum.map(|_, i, sum| sum + number(i));
    }
    // The activation is a constant in each: there is one branch, not one for each number.
    match activation {
        Activation::Identity => {}
        Activation::Relu => sum.map(|_, _, sum| sum.activated(Activation::Relu)),
        Activation::Gelu => sum.map(|_, _, sum| sum.activated(Activation::Gelu)),
        Activation::Silu => sum.map(|_, _, sum| sum.activated(Activation::Silu)),
    }
}
