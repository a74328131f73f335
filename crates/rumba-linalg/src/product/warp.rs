//! By warps, with `mma.sync`: compute capability 8.0 and later.

use cuda_std::half::{bf16, f16};
use cuda_std::mma::Tf32;
use cuda_std::prelude::*;
use cuda_std::product::{ByWarps, Product, ProductStages};

use super::{Activation, Epilogue, Factors};

/// The kernels, which differ in their types alone.
macro_rules! products {
    ($($(#[$doc:meta])* $name:ident: $way:ty, $element:ty, $output:ty, $sum:ty, arch = $arch:tt;)*) => {$(
        $(#[$doc])*
        #[kernel(block = 256, arch = $arch)]
        pub fn $name(
            a: View<$element, 3>,
            b: View<$element, 3>,
            bias: View<$output, 3>,
            residual: View<$output, 3>,
            alpha: $sum,
            beta: $sum,
            activation: Activation,
            c: Disjoint<$output, Product>,
            stages: ProductStages<ByWarps<$way>>,
        ) {
            let factors = Factors { alpha, beta, activation };
            let epilogue = Epilogue { factors, bias, residual };
            stages.product(a, b, c, |index, sum, c| epilogue.finish(index, sum, c));
        }
    )*};
}

products! {
    /// `c = f(a b)` of `f64`.
    product_warps_f64: f64, f64, f64, f64, arch = ["sm_90", "sm_80"];
    /// `c = f(a b)` of `f32`, whose products are those of [`Tf32`].
    product_warps_tf32: Tf32, f32, f32, f32, arch = "sm_80";
    /// `c = f(a b)` of [`struct@f16`], both aligned and along the sum.
    product_warps_f16: f16, f16, f16, f32, arch = "sm_80";
    /// The same with sums as they are.
    product_warps_f16_f32: f16, f16, f32, f32, arch = "sm_80";
    /// `c = f(a b)` of [`struct@bf16`], both aligned and along the sum.
    product_warps_bf16: bf16, bf16, bf16, f32, arch = "sm_80";
    /// The same with sums as they are.
    product_warps_bf16_f32: bf16, bf16, f32, f32, arch = "sm_80";
    /// `c = f(a b)` of `i8`, both aligned and along the sum.
    product_warps_i8: i8, i8, i32, i32, arch = "sm_80";
}
