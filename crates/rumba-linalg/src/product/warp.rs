//! By warps, with `mma.sync`: compute capability 8.0 and later.

use cuda_std::half::{bf16, f16};
use cuda_std::mma::Tf32;
use cuda_std::prelude::*;
use cuda_std::product::{ByWarps, Product, ProductStages};

use super::{Activation, Epilogue};

/// The kernels, which differ in their types alone.
macro_rules! products {
    ($($(#[$doc:meta])* $name:ident: $way:ty, $element:ty, $output:ty, $sum:ty, block = $block:literal, min_blocks = $blocks:literal, arch = $arch:tt;)*) => {$(
        $(#[$doc])*
        #[kernel(block = $block, min_blocks = $blocks, arch = $arch)]
        pub fn $name(
            a: View<$element, 3>,
            b: View<$element, 3>,
            bias: View<$output, 3>,
            residual: View<$output, 3>,
            alpha: $sum,
            beta: $sum,
            activation: Activation,
            c: Disjoint<$output, Product<$way>>,
            stages: ProductStages<$way>,
        ) {
            let epilogue = Epilogue::new(bias, residual, alpha, beta, activation);
            stages.product_or(a, b, c, epilogue.value(), |index, sum, c| epilogue.finish(index, sum, c));
        }
    )*};
}

products! {
    /// `c = f(a b)` of `f64`.
    product_warps_f64: ByWarps<f64, 64, 128>, f64, f64, f64, block = 128, min_blocks = 2, arch = ["sm_90", "sm_80"];
    /// The same in tiles of 64 by 64.
    product_warps_f64_small: ByWarps<f64, 64, 64>, f64, f64, f64, block = 128, min_blocks = 3, arch = ["sm_90", "sm_80"];
    /// `c = f(a b)` of `f32`, whose products are those of [`Tf32`].
    product_warps_tf32: ByWarps<Tf32>, f32, f32, f32, block = 256, min_blocks = 1, arch = "sm_80";
    /// `c = f(a b)` of [`struct@f16`], both aligned and along the sum.
    product_warps_f16: ByWarps<f16>, f16, f16, f32, block = 256, min_blocks = 1, arch = "sm_80";
    /// `c = f(a b)` of [`struct@f16`] with results of `f32`, the type of the sums.
    product_warps_f16_f32: ByWarps<f16>, f16, f32, f32, block = 256, min_blocks = 1, arch = "sm_80";
    /// `c = f(a b)` of [`struct@bf16`], both aligned and along the sum.
    product_warps_bf16: ByWarps<bf16>, bf16, bf16, f32, block = 256, min_blocks = 1, arch = "sm_80";
    /// `c = f(a b)` of [`struct@bf16`] with results of `f32`, the type of the sums.
    product_warps_bf16_f32: ByWarps<bf16>, bf16, f32, f32, block = 256, min_blocks = 1, arch = "sm_80";
    /// `c = f(a b)` of `i8`, both aligned and along the sum.
    product_warps_i8: ByWarps<i8>, i8, i32, i32, block = 256, min_blocks = 1, arch = "sm_80";
}
