//! By warp groups, with an epilogue between the products and the tensor copies that write: sums stay in registers, and a tile is written
//! while the next one is computed. Compute capability 9.0.
//!
//! For a bias with a number for each column, and a residual whose rows lie as the output's do; [`stored`](super::stored) has all others.
//! Parts of the epilogue that are not requested take no time.

use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Across, Columns, Element, Factor, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline,
    TensorStaging, TileOrigin, Tiling, Width,
};

use super::Activation;
use super::epilogue::{Curve, Output};
use super::warp_group::{self, Variant};

/// For many tiles: the tiles of [`warp_group::LARGE`].
pub const LARGE: Variant = Variant { name: "product_fused_large", ..warp_group::LARGE };

/// For few: the tiles of [`warp_group::SMALL`].
pub const SMALL: Variant = Variant { name: "product_fused_small", ..warp_group::SMALL };

/// The epilogue of the sums. Numbers of 16 bits are passed in pairs, one pair per register.
#[derive(Clone, Copy)]
struct Epilogue<'l> {
    alpha: f32,
    activation: Activation,
    bias: View<'l, u32, 1>,
    residual: View<'l, u32, 3>,
}

/// The numbers of a pair.
#[inline(always)]
fn pair<U: Output<f32>>(bits: u32) -> [f32; 2] {
    // The lower half is the first.
    [bits as u16, (bits >> 16) as u16].map(|bits| U::number(bytemuck::cast(bits)))
}

impl Epilogue<'_> {
    /// Changes the sums of a warp group's 64 rows from `place` on: what need not be done is asked once, not for each sum.
    #[inline(always)]
    fn finish<U: Output<f32>, const WIDTH: usize>(&self, sums: &mut Accumulator<WIDTH>, place: TileOrigin)
    where
        Columns<WIDTH>: Width,
    {
        let Self { alpha, activation, .. } = *self;
        let TileOrigin { batch, row: top, column: left } = place;
        // A thread's numbers are neighbours by two, in each of two rows in turn: the second row has the first one's bias. What is read
        // beyond the matrix is not used.
        let (mut number, mut two) = (0_usize, [0.0; 2]);
        if !self.bias.is_empty() {
            sums.map(|_, column, sum| {
                if number % 4 == 0 {
                    let bits = self.bias.nearest([((left + column) / 2) as usize]);
                    two = bits.map_or([0.0; 2], |bits| pair::<U>(*bits));
                }
                let value = GpuFloat::mul_add(sum, alpha, two[number % 2]);
                number += 1;
                value
            });
        } else if alpha != 1.0 {
            sums.map(|_, _, sum| sum * alpha);
        }
        let curve = Curve::of(activation);
        if curve.is_smooth {
            sums.map(|_, _, sum| curve.smooth(sum));
        } else if activation != Activation::Identity {
            sums.map(|_, _, sum| curve.straight(sum));
        }
        if !self.residual.is_empty() {
            number = 0;
            sums.map(|row, column, sum| {
                if number % 2 == 0 {
                    let at = [batch, top + row, (left + column) / 2].map(|at| at as usize);
                    two = self.residual.nearest(at).map_or([0.0; 2], |bits| pair::<U>(*bits));
                }
                let value = sum + two[number % 2];
                number += 1;
                value
            });
        }
    }
}

/// The kernels: elements in a row of 128 bytes, the shape of the block, blocks of a cluster, consumers and registers; rows and columns of
/// the tile, what of `b` is copied at once and from where, and what of it a stage has.
macro_rules! products {
    ($(
        $(#[$doc:meta])*
        $name:ident: $depth:literal deep, [$($shape:tt)*], $blocks:literal blocks, $groups:literal consumers, $low:literal + $high:literal registers,
        $rows:literal x $width:literal, b $half:literal x $across:literal at |$place:ident, $k:ident| $at:expr, $b:ty, $stages:literal stages,
        $types:tt;
    )*) => {$(
        $(#[$doc])*
        #[kernel($($shape)*, min_blocks = 1, arch = ["sm_90a"], (T, U) = $types)]
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
        pub fn $name<T: Factor<Sum = f32>, U: Element + Output<f32>>(
            a: TensorMap<Swizzled<T, $rows, $depth>>,
            b: TensorMap<Swizzled<T, $half, $across>>,
            bias: View<u32, 1>,
            residual: View<u32, 3>,
            alpha: f32,
            activation: Activation,
            c: TensorOutput<Swizzled<U, 16, 64>, Tiling<$rows, $width, 8, $blocks>>,
            stages: TensorPipeline<(Swizzled<T, $rows, $depth>, $b), $stages, $groups, $blocks>,
            staging: TensorStaging<Swizzled<U, 16, 64>, $groups>,
        ) {
            a.prefetch();
            b.prefetch();
            c.prefetch();
            let epilogue = Epilogue { alpha, activation, bias, residual };
            let steps = a.columns().div_ceil($depth);
            let tiles = c.tiles();
            let mut places = tiles.places();
            // SAFETY: all threads of the grid come here, with tiles and steps of the same parameters. Columns begin at multiples of 16 bytes.
            let stages = unsafe { stages.assume_equal() };
            stages.roles::<$low, $high>(
                |producer| {
                    while let Some($place) = places.next_place() {
                        for step in 0..steps {
                            let $k = step * $depth;
                            let a = a.at_batch($place.batch, [$place.row, $k]);
                            producer.acquire().fill(a, b.at_batch($place.batch, $at));
                        }
                    }
                },
                |consumer| {
                    let first = 64 * consumer.rank();
                    let mut sums = Accumulator::<$width>::zero();
                    let mut writer = staging.writer(consumer);
                    for tile in tiles {
                        sums.products(|products| products.add_all(consumer, steps, &mut writer, first));
                        let place = tile.place_in_batch();
                        epilogue.finish::<U, $width>(&mut sums, TileOrigin { row: place.row + first, ..place });
                        writer.hold(tile, &sums);
                    }
                },
            );
        }
    )*};
}

products! {
    /// [`LARGE`]: `c = f(a bᵀ)` of numbers with 16 bits.
    product_fused_large_nt: 64 deep, [block = 384, cluster = 2], 2 blocks, 2 consumers, 40 + 232 registers,
        128 x 256, b 128 x 64 at |place, k| [place.column, k], Multicast<Swizzled<T, 256, 64>>, 4 stages, [(f16, f16), (bf16, bf16)];
    /// [`LARGE`]: `c = f(a b)`.
    product_fused_large_nn: 64 deep, [block = 384, cluster = 2], 2 blocks, 2 consumers, 40 + 232 registers,
        128 x 256, b 64 x 64 at |place, k| [k, place.column], Multicast<Across<T, 64, 256>>, 4 stages, [(f16, f16), (bf16, bf16)];
    /// [`SMALL`]: `c = f(a bᵀ)`.
    product_fused_small_nt: 64 deep, [block = 256], 1 blocks, 1 consumers, 40 + 216 registers,
        64 x 128, b 128 x 64 at |place, k| [place.column, k], Swizzled<T, 128, 64>, 8 stages, [(f16, f16), (bf16, bf16)];
    /// [`LARGE`]: `c = f(a bᵀ)` of numbers with 8 bits.
    product_fused_8: 128 deep, [block = 384, cluster = 2], 2 blocks, 2 consumers, 40 + 232 registers,
        128 x 256, b 128 x 128 at |place, k| [place.column, k], Multicast<Swizzled<T, 256, 128>>, 4 stages,
        [(e4m3, f16), (e4m3, bf16), (e5m2, f16), (e5m2, bf16)];
}
