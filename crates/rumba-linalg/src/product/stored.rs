//! By warp groups, with any epilogue and any output: [`STORED`](super::warp_group::STORED), whose tiles are those of
//! [`LARGE`](super::warp_group::LARGE). Compute capability 9.0.
//!
//! A kernel for each pair of types, of operands that lie with their terms one after the other, `c = f(a bᵀ)`. What the epilogue does
//! is asked at run time: beside the products that takes little, and another kernel for each would take long to build and to load.

use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Factor, MatrixOutput, Multicast, Swizzled, TensorMap, TensorPipeline, TensorStaging, Tiling, product_in_fours,
};

use super::Activation;
use super::epilogue::{Epilogue, Output};

/// The kernels, which differ in the elements' size, that is in the number of elements in a row of 128 bytes.
macro_rules! products {
    ($($(#[$doc:meta])* $name:ident: $depth:literal, $sum:ty, $types:tt;)*) => {$(
        $(#[$doc])*
        #[kernel(block = 384, min_blocks = 1, cluster = 2, arch = ["sm_90a"], (T, U) = $types)]
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
        pub fn $name<T: Factor<Sum = $sum>, U: Output<$sum>>(
            a: TensorMap<Swizzled<T, 128, $depth>>,
            b: TensorMap<Swizzled<T, 128, $depth>>,
            bias: View<U, 3>,
            residual: View<U, 3>,
            alpha: $sum,
            beta: $sum,
            activation: Activation,
            c: MatrixOutput<U, Tiling<128, 256, 8, 2>>,
            stages: TensorPipeline<(Swizzled<T, 128, $depth>, Multicast<Swizzled<T, 256, $depth>>), 4, 2, 2>,
            staging: TensorStaging<Swizzled<f32, 16, 32>, 2>,
        ) {
            let epilogue = Epilogue::new(bias, residual, alpha, beta, activation);
            let reads_old = beta != <$sum as super::Real>::ZERO;
            product_in_fours(
                (a, b),
                stages,
                (c, staging),
                reads_old,
                |at| epilogue.beside(at),
                |sums, old, beside| epilogue.finish_four(sums, old, beside),
            );
        }
    )*};
}

products! {
    /// Of numbers with 16 bits.
    product_stored_16: 64, f32, [(f16, f16), (bf16, bf16), (f16, f32), (bf16, f32)];
    /// Of numbers with 8 bits.
    product_stored_8: 128, f32, [(e4m3, f16), (e4m3, bf16), (e4m3, f32), (e5m2, f16), (e5m2, bf16), (e5m2, f32)];
    /// Of tf32, the upper 19 bits of `f32`.
    product_stored_32: 32, f32, [(f32, f32)];
    /// Of whole numbers with 8 bits.
    product_stored_s8: 128, i32, [(i8, i32)];
}
