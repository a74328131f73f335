//! Functions as the hardware approximates them: one instruction, or few, in `f32`.
//!
//! Absolute and relative errors are those of the PTX ISA, "Floating Point Instructions". A
//! kernel with fast mathematics (`#[kernel(fast_math)]`, or `CudaBuilder::fast_math` for all) has these
//! in place of the functions of [`GpuFloat`](super::GpuFloat). On the host they are the standard library's.
//!
//! ```
//! use cuda_std::float::approx;
//! use cuda_std::prelude::*;
//!
//! /// The logistic function.
//! #[kernel]
//! pub fn sigmoid(mut x: DisjointSlice<f32>) {
//!     if let Some(x) = x.own() {
//!         *x = approx::rcp(1.0 + approx::exp(-*x));
//!     }
//! }
//!
//! /// The same, written for any precision, and built with fast mathematics.
//! #[kernel(fast_math)]
//! pub fn fast_sigmoid(mut x: DisjointSlice<f32>) {
//!     if let Some(x) = x.own() {
//!         *x = 1.0 / (1.0 + (-*x).exp());
//!     }
//! }
//!
//! fn main() {
//!     let (mut x, mut y) = ([1.0; 40], [1.0; 40]);
//!     examples::launch((2, 32), sigmoid(&mut x));
//!     examples::launch((2, 32), fast_sigmoid(&mut y));
//!     assert!(x.iter().chain(&y).all(|x| (x - 0.731_058_6).abs() < 1e-6));
//! #   examples::becomes("sigmoid", &["ex2.approx.f32", "rcp.approx.f32"]);
//! #   examples::becomes("fast_sigmoid", &["ex2.approx.ftz.f32", "rcp.approx.ftz.f32"]);
//! }
//! ```

/// Declares functions by the builtin of the link stage that they are, and by what they are on the host.
macro_rules! approximations {
    ($($(#[$doc:meta])* $builtin:literal fn $name:ident($($argument:ident),+) = $host:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name($($argument: f32),+) -> f32 {
            #[cfg(target_arch = "nvptx64")]
            {
                unsafe extern "C" {
                    #[link_name = $builtin]
                    fn operation($($argument: f32),+) -> f32;
                }
                // SAFETY: arithmetic, defined for all numbers.
                unsafe { operation($($argument),+) }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            $host
        }
    )*};
}

approximations! {
    /// The sine of an angle in radians. Absolute error 2⁻²⁰·⁵ from -π to π, and larger outside.
    /// `sin.approx.f32`; PTX 1.4.
    "__rumba_sin_approx" fn sin(x) = x.sin();
    /// The cosine of an angle in radians. Absolute error 2⁻²⁰·⁵ from -π to π, and larger outside.
    /// `cos.approx.f32`; PTX 1.4.
    "__rumba_cos_approx" fn cos(x) = x.cos();
    /// 2 to the power. 2 ulp and 2⁻²². `ex2.approx.f32`; PTX 1.4.
    "__rumba_ex2_approx" fn ex2(x) = x.exp2();
    /// As `ex2`, with 0 in place of subnormal numbers: one instruction less. `ex2.approx.ftz.f32`; PTX 1.4.
    "__rumba_ex2_approx_ftz" fn ex2_ftz(x) = x.exp2();
    /// The logarithm to base 2. Absolute error 2⁻²² near 1, relative error 2⁻²² elsewhere.
    /// `lg2.approx.f32`; PTX 1.4.
    "__rumba_lg2_approx" fn lg2(x) = x.log2();
    /// One over the number. 1 ulp. `rcp.approx.f32`; PTX 1.4.
    "__rumba_rcp_approx" fn rcp(x) = 1.0 / x;
    /// The square root. Relative error 2⁻²³. `sqrt.approx.f32`; PTX 1.4.
    "__rumba_sqrt_approx" fn sqrt(x) = x.sqrt();
    /// One over the square root. Relative error 2⁻²²·⁹. `rsqrt.approx.f32`; PTX 1.4.
    "__rumba_rsqrt_approx" fn rsqrt(x) = 1.0 / x.sqrt();
    /// The hyperbolic tangent. Relative error 2⁻¹¹. `tanh.approx.f32`; PTX 7.0, sm_75.
    "__rumba_tanh_approx" fn tanh(x) = x.tanh();
    /// The quotient. 2 ulp for divisors from 2⁻¹²⁶ to 2¹²⁶; 0 or NaN beyond 2¹²⁶. CUDA's `__fdividef`.
    /// `div.approx.f32`; PTX 1.4.
    "__rumba_div_approx" fn div(x, y) = x / y;
}

use core::f32::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};

/// The tangent of an angle in radians, as a quotient of [`sin`] and [`cos`].
#[inline(always)]
#[must_use]
pub fn tan(x: f32) -> f32 {
    div(sin(x), cos(x))
}

/// e to the power: [`ex2`] of a product. CUDA's `__expf`.
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    ex2(x * LOG2_E)
}

/// 10 to the power: [`ex2`] of a product. CUDA's `__exp10f`.
#[inline(always)]
#[must_use]
pub fn exp10(x: f32) -> f32 {
    ex2(x * LOG2_10)
}

/// The natural logarithm: [`lg2`] times a constant. CUDA's `__logf`.
#[inline(always)]
#[must_use]
pub fn ln(x: f32) -> f32 {
    lg2(x) * LN_2
}

/// The logarithm to base 10: [`lg2`] times a constant. CUDA's `__log10f`.
#[inline(always)]
#[must_use]
pub fn log10(x: f32) -> f32 {
    lg2(x) * LOG10_2
}

/// A power of a number that is not negative: [`ex2`] of a product with [`lg2`]. CUDA's `__powf`.
#[inline(always)]
#[must_use]
pub fn pow(x: f32, exponent: f32) -> f32 {
    ex2(exponent * lg2(x))
}

#[cfg(test)]
mod tests {
    #[test]
    fn host_functions_agree_with_the_standard_library() {
        let near = |x: f32, expected: f32| assert!((x - expected).abs() <= 1e-5 * expected.abs(), "{x} {expected}");
        near(super::tan(1.0), 1.0_f32.tan());
        near(super::exp(3.0), 3.0_f32.exp());
        near(super::exp10(-2.0), 0.01);
        near(super::ln(5.0), 5.0_f32.ln());
        near(super::log10(5.0), 5.0_f32.log10());
        near(super::pow(5.0, 1.5), 5.0_f32.powf(1.5));
        near(super::rsqrt(4.0), 0.5);
    }
}
