//! By warp groups, with any epilogue and any output: [`STORED`](super::warp_group::STORED), whose tiles are those of
//! [`LARGE`](super::warp_group::LARGE). Compute capability 9.0.
//!
//! A kernel for each pair of types, of operands that lie with their terms one after the other, `c = f(a bᵀ)`. What the epilogue does
//! is asked at run time: beside the products that takes little, and another kernel for each would take long to build and to load.

use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Bands, Factor, Grouping, MatrixOutput, Multicast, Swizzled, TensorMap, TensorPipeline, TensorStaging,
    product_in_fours,
};

use super::epilogue::{Epilogue, Output};
use super::warp_group::{self, Variant};
use super::{Activation, Factors};

/// The tiles of [`warp_group::SMALL`], with the same.
pub const SMALL: Variant = Variant {
    name: "product_stored_small",
    copies: false,
    ..warp_group::SMALL
};

/// The kernels, which differ in the elements' size, so many of which are in a row of 128 bytes, in the tile, and in what of it is copied
/// at once.
macro_rules! products {
    ($($(#[$doc:meta])* $name:ident: $depth:literal, $sum:ty, [$($shape:tt)*], $down:literal below,
       $rows:literal x $half:literal, $b:ty, $stages:literal stages, $groups:literal consumers, $cluster:literal blocks, $types:tt;)*) => {$(
        $(#[$doc])*
        #[kernel($($shape)*, min_blocks = 1, arch = ["sm_90a"], (T, U) = $types)]
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
        pub fn $name<T: Factor<Sum = $sum>, U: Output<$sum>>(
            a: TensorMap<Swizzled<T, $rows, $depth>>,
            b: TensorMap<Swizzled<T, $half, $depth>>,
            bias: View<U, 3>,
            residual: View<U, 3>,
            alpha: $sum,
            beta: $sum,
            activation: Activation,
            c: MatrixOutput<U>,
            stages: TensorPipeline<(Swizzled<T, $rows, $depth>, $b), $stages, $groups, $cluster>,
            staging: TensorStaging<Swizzled<f32, 16, 32>, $groups>,
        ) {
            let factors = Factors { alpha, beta, activation };
            let epilogue = Epilogue { factors, bias, residual };
            let order = (Bands(8), Grouping { down: $down, across: 1 });
            let reads_old = beta != <$sum as super::Real>::ZERO;
            product_in_fours(
                (a, b),
                stages,
                (c, staging),
                order,
                reads_old,
                |at| epilogue.beside(at),
                |sums, old, beside| epilogue.finish_four(sums, old, beside),
            );
        }
    )*};
}

/// Tiles of 128 by 256, as [`products`].
macro_rules! large {
    ($($(#[$doc:meta])* $name:ident: $depth:literal, $sum:ty, $types:tt;)*) => {
        products! {$(
            $(#[$doc])*
            $name: $depth, $sum, [block = 384, cluster = 2], 2 below, 128 x 128, Multicast<Swizzled<T, 256, $depth>>, 4 stages,
                2 consumers, 2 blocks, $types;
        )*}
    };
}

large! {
    /// Of numbers with 16 bits.
    product_stored_16: 64, f32, [(f16, f16), (bf16, bf16), (f16, f32), (bf16, f32)];
    /// Of numbers with 8 bits.
    product_stored_8: 128, f32, [(e4m3, f16), (e4m3, bf16), (e4m3, f32), (e5m2, f16), (e5m2, bf16), (e5m2, f32)];
    /// Of tf32, the upper 19 bits of `f32`.
    product_stored_32: 32, f32, [(f32, f32)];
    /// Of whole numbers with 8 bits.
    product_stored_s8: 128, i32, [(i8, i32)];
}

products! {
    /// [`SMALL`], of numbers with 16 bits.
    product_stored_small: 64, f32, [block = 256], 1 below, 64 x 128, Swizzled<T, 128, 64>, 8 stages, 1 consumers, 1 blocks,
        [(f16, f16), (bf16, bf16)];
}
