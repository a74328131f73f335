//! Mathematics of `f32` and `f64`.
//!
//! The core library has no square root, sine or power; [`GpuFloat`] adds them, with the names of the
//! standard library, and adds the functions that only CUDA has. Functions with an instruction compile to the
//! instruction. The other functions are those of NVIDIA's libdevice if the builder found it, otherwise of
//! the crate `libm`; the two differ in the last bits. On the host they are the standard library's, or
//! `libm`'s.
//!
//! | precision | see |
//! |---|---|
//! | full: errors of 1 to 5 units in the last place (ulp) | [`GpuFloat`] and the functions of this module |
//! | as the hardware gives it, `f32` only | [`approx`] |
//!
//! The methods state errors in ulp as NVIDIA does for libdevice (CUDA C++ Programming Guide, "Mathematical
//! Functions"), over the full range, `f32` first. The table of `cargo xtask ulp` has the measured errors of both
//! libraries.
//!
//! `x % y` is exact, as in Rust, and calls [`GpuFloat::fmod`].

use core::ops::{Add, Div, Mul, Neg, Rem, Sub};

use crate::abi::parameter::Element;

pub mod approx;
#[cfg(any(not(rumba_libdevice), not(target_arch = "nvptx64")))]
mod portable;
#[cfg(any(not(rumba_libdevice), not(target_arch = "nvptx64")))]
use portable::{double, single};

/// Functions of floating-point numbers.
///
/// ```
/// use cuda_std::prelude::*;
///
/// fn norm<F: GpuFloat>(x: F, y: F) -> F {
///     x.hypot(y)
/// }
/// assert_eq!(norm(3.0_f32, 4.0), 5.0);
///
/// /// Constants are written as `f64`.
/// fn mean<F: GpuFloat>(x: F, y: F) -> F {
///     F::from_f64(0.5) * (x + y)
/// }
/// assert_eq!((mean(1.0_f32, 2.0), mean(1.0_f64, 2.0)), (1.5, 1.5));
/// ```
pub trait GpuFloat:
    Copy
    + Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The number, rounded to nearest if it has to be: how functions of any of these types write a constant.
    #[must_use]
    fn from_f64(value: f64) -> Self;
    /// The square root, correctly rounded. `sqrt.rn`; PTX 1.4, sm_20.
    #[must_use]
    fn sqrt(self) -> Self;
    /// One over the square root. `rsqrt.approx.f32`, PTX 1.4, and libdevice for `f64`. 2 ulp, 1
    /// ulp.
    #[must_use]
    fn rsqrt(self) -> Self;
    /// The largest integer not above. `cvt.rmi`; PTX 1.0.
    #[must_use]
    fn floor(self) -> Self;
    /// The smallest integer not below. `cvt.rpi`; PTX 1.0.
    #[must_use]
    fn ceil(self) -> Self;
    /// The integer part. `cvt.rzi`; PTX 1.0.
    #[must_use]
    fn trunc(self) -> Self;
    /// The nearest integer, halves away from zero. A few instructions.
    #[must_use]
    fn round(self) -> Self;
    /// The nearest integer, halves to even. `cvt.rni`; PTX 1.0.
    #[must_use]
    fn round_ties_even(self) -> Self;
    /// The absolute value. `abs`; PTX 1.0.
    #[must_use]
    fn abs(self) -> Self;
    /// The number with the sign of another. `copysign`; PTX 1.4.
    #[must_use]
    fn copysign(self, sign: Self) -> Self;
    /// The smaller; the number, if one is NaN. `min`; PTX 1.0.
    #[must_use]
    fn min(self, other: Self) -> Self;
    /// The larger; the number, if one is NaN. `max`; PTX 1.0.
    #[must_use]
    fn max(self, other: Self) -> Self;
    /// `self * a + b`, rounded once. `fma.rn`; PTX 2.0, sm_20.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The remainder of the division that rounds to zero: what `%` is. Exact, by a loop where the
    /// quotient is large.
    #[must_use]
    fn fmod(self, divisor: Self) -> Self;
    /// The remainder of the division that rounds to the nearest, halves to even: IEEE 754's. Exact.
    #[must_use]
    fn remainder(self, divisor: Self) -> Self;
    /// The cube root. 1 ulp, 1 ulp.
    #[must_use]
    fn cbrt(self) -> Self;
    /// One over the cube root. 1 ulp, 1 ulp.
    #[must_use]
    fn rcbrt(self) -> Self;
    /// The length of the hypotenuse, without overflow between. 3 ulp, 2 ulp.
    #[must_use]
    fn hypot(self, other: Self) -> Self;
    /// One over the length of the hypotenuse. 2 ulp, 1 ulp.
    #[must_use]
    fn rhypot(self, other: Self) -> Self;
    /// The sine of an angle in radians. 2 ulp, 2 ulp.
    #[must_use]
    fn sin(self) -> Self;
    /// The cosine of an angle in radians. 2 ulp, 2 ulp.
    #[must_use]
    fn cos(self) -> Self;
    /// The tangent of an angle in radians. 4 ulp, 2 ulp.
    #[must_use]
    fn tan(self) -> Self;
    /// The sine of an angle in half turns, `sin(πx)`. 1 ulp, 2 ulp.
    #[must_use]
    fn sin_pi(self) -> Self;
    /// The cosine of an angle in half turns, `cos(πx)`. 1 ulp, 2 ulp.
    #[must_use]
    fn cos_pi(self) -> Self;
    /// The arc sine, in radians. 2 ulp, 2 ulp.
    #[must_use]
    fn asin(self) -> Self;
    /// The arc cosine, in radians. 2 ulp, 2 ulp.
    #[must_use]
    fn acos(self) -> Self;
    /// The arc tangent, in radians. 2 ulp, 2 ulp.
    #[must_use]
    fn atan(self) -> Self;
    /// The angle of the point with ordinate `self` and abscissa `x`, in radians. 3 ulp, 2 ulp.
    #[must_use]
    fn atan2(self, x: Self) -> Self;
    /// The hyperbolic sine. 3 ulp, 2 ulp.
    #[must_use]
    fn sinh(self) -> Self;
    /// The hyperbolic cosine. 2 ulp, 1 ulp.
    #[must_use]
    fn cosh(self) -> Self;
    /// The hyperbolic tangent. 2 ulp, 1 ulp.
    #[must_use]
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine. 3 ulp, 3 ulp.
    #[must_use]
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine. 4 ulp, 3 ulp.
    #[must_use]
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent. 3 ulp, 2 ulp.
    #[must_use]
    fn atanh(self) -> Self;
    /// e to the power. 2 ulp, 1 ulp.
    #[must_use]
    fn exp(self) -> Self;
    /// 2 to the power. 2 ulp, 1 ulp.
    #[must_use]
    fn exp2(self) -> Self;
    /// 10 to the power. 2 ulp, 1 ulp.
    #[must_use]
    fn exp10(self) -> Self;
    /// e to the power, less 1, exact near 0. 1 ulp, 1 ulp.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// The natural logarithm. 1 ulp, 1 ulp.
    #[must_use]
    fn ln(self) -> Self;
    /// The natural logarithm of the number plus 1, exact near 0. 1 ulp, 1 ulp.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// The logarithm to base 2. 1 ulp, 1 ulp.
    #[must_use]
    fn log2(self) -> Self;
    /// The logarithm to base 10. 2 ulp, 1 ulp.
    #[must_use]
    fn log10(self) -> Self;
    /// A power. 4 ulp, 2 ulp.
    #[must_use]
    fn powf(self, exponent: Self) -> Self;
    /// The gamma function. 5 ulp, 10 ulp.
    #[must_use]
    fn tgamma(self) -> Self;
    /// The logarithm of the gamma function's absolute value. 6 ulp and 4 ulp away from its zeros.
    #[must_use]
    fn lgamma(self) -> Self;
    /// How much of the normal distribution lies below. 5 ulp, 5 ulp.
    #[must_use]
    fn norm_cdf(self) -> Self;
    /// Below which number so much of the normal distribution lies: the inverse of
    /// [`norm_cdf`](Self::norm_cdf). 5 ulp, 7 ulp.
    #[must_use]
    fn norm_cdf_inv(self) -> Self;
    /// The inverse of [`erf`]. 2 ulp, 5 ulp.
    #[must_use]
    fn erf_inv(self) -> Self;
    /// The inverse of [`erfc`]. 4 ulp, 6 ulp.
    #[must_use]
    fn erfc_inv(self) -> Self;
    /// The Bessel function of the first kind of order 0. Absolute errors near its zeros.
    #[must_use]
    fn bessel_j0(self) -> Self;
    /// The Bessel function of the first kind of order 1. Absolute errors near its zeros.
    #[must_use]
    fn bessel_j1(self) -> Self;
    /// The Bessel function of the second kind of order 0. Absolute errors near its zeros.
    #[must_use]
    fn bessel_y0(self) -> Self;
    /// The Bessel function of the second kind of order 1. Absolute errors near its zeros.
    #[must_use]
    fn bessel_y1(self) -> Self;
    /// The Bessel function of the first kind of an integer order. Absolute errors near its zeros.
    #[must_use]
    fn bessel_jn(self, order: i32) -> Self;
    /// The Bessel function of the second kind of an integer order. Absolute errors near its zeros.
    #[must_use]
    fn bessel_yn(self, order: i32) -> Self;
    /// The number times a power of 2, rounded once.
    #[must_use]
    fn ldexp(self, exponent: i32) -> Self;
    /// See [`erf`].
    #[doc(hidden)]
    #[must_use]
    fn __erf(self) -> Self;
    /// See [`erfc`].
    #[doc(hidden)]
    #[must_use]
    fn __erfc(self) -> Self;

    /// The fractional part, with the sign of the number.
    #[inline(always)]
    #[must_use]
    fn fract(self) -> Self {
        self - self.trunc()
    }

    /// Sine and cosine together.
    #[inline(always)]
    #[must_use]
    fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    /// The logarithm to any base, as a quotient of two.
    #[inline(always)]
    #[must_use]
    fn log(self, base: Self) -> Self {
        self.ln() / base.ln()
    }

    /// An integer power, by repeated multiplication.
    #[must_use]
    fn powi(self, exponent: i32) -> Self;
    /// The remainder that is not negative, for any divisor.
    #[must_use]
    fn rem_euclid(self, divisor: Self) -> Self;
    /// The quotient that belongs to [`rem_euclid`](Self::rem_euclid).
    #[must_use]
    fn div_euclid(self, divisor: Self) -> Self;
    /// 1 or -1 by the sign; NaN for NaN.
    #[must_use]
    fn signum(self) -> Self;
    /// One over the number. `rcp.rn`; PTX 1.4, sm_20.
    #[must_use]
    fn recip(self) -> Self;
}

/// The error function. 2 ulp for `f32`, 2 ulp for `f64`.
///
/// A function rather than a method, because the standard library is about to have the method.
///
/// ```
/// use cuda_std::float::{erf, erfc};
///
/// assert!((erf(1.0_f64) - 0.842_700_792_949_714_9).abs() < 1e-15);
/// assert!((erf(0.5_f32) + erfc(0.5_f32) - 1.0).abs() < 1e-6);
/// ```
#[inline(always)]
#[must_use]
pub fn erf<F: GpuFloat>(x: F) -> F {
    x.__erf()
}

/// The complementary error function, 1 less [`erf`]. 4 ulp for `f32`, 5 ulp for `f64`.
#[inline(always)]
#[must_use]
pub fn erfc<F: GpuFloat>(x: F) -> F {
    x.__erfc()
}

/// Implements the trait for one type from the table of its functions. Each line is a method, then its
/// name in LLVM or libdevice, in `libm` (or what stands for it), and on the host.
macro_rules! gpu_float {
    ($float:ident:
        instructions { $($method:ident($($operand:ident),*) = $llvm:literal, $host:path;)* }
        library { $($function:ident($($argument:ident),*) = $libdevice:literal, $libm:path, $std:path;)* }
        orders { $($bessel:ident = $nv_bessel:literal, $libm_bessel:path;)* }
        ldexp = $nv_ldexp:literal, $libm_ldexp:path;
    ) => {
        impl GpuFloat for $float {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast, reason = "one line for both types")]
            fn from_f64(value: f64) -> Self {
                value as $float
            }
            $(
                #[inline(always)]
                fn $method(self $(, $operand: Self)*) -> Self {
                    #[cfg(target_arch = "nvptx64")]
                    {
                        unsafe extern "C" {
                            #[link_name = $llvm]
                            fn operation(x: $float $(, $operand: $float)*) -> $float;
                        }
                        // SAFETY: arithmetic, defined for all numbers.
                        unsafe { operation(self $(, $operand)*) }
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    $host(self $(, $operand)*)
                }
            )*
            $(
                #[inline(always)]
                fn $function(self $(, $argument: Self)*) -> Self {
                    #[cfg(all(target_arch = "nvptx64", rumba_libdevice))]
                    {
                        unsafe extern "C" {
                            #[link_name = $libdevice]
                            fn operation(x: $float $(, $argument: $float)*) -> $float;
                        }
                        // SAFETY: arithmetic, defined for all numbers.
                        unsafe { operation(self $(, $argument)*) }
                    }
                    #[cfg(all(target_arch = "nvptx64", not(rumba_libdevice)))]
                    {
                        $libm(self $(, $argument)*)
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        $std(self $(, $argument)*)
                    }
                }
            )*
            $(
                #[inline(always)]
                fn $bessel(self, order: i32) -> Self {
                    #[cfg(all(target_arch = "nvptx64", rumba_libdevice))]
                    {
                        unsafe extern "C" {
                            #[link_name = $nv_bessel]
                            fn operation(order: i32, x: $float) -> $float;
                        }
                        // SAFETY: arithmetic, defined for all numbers.
                        unsafe { operation(order, self) }
                    }
                    #[cfg(not(all(target_arch = "nvptx64", rumba_libdevice)))]
                    {
                        $libm_bessel(order, self)
                    }
                }
            )*

            #[inline(always)]
            fn ldexp(self, exponent: i32) -> Self {
                #[cfg(all(target_arch = "nvptx64", rumba_libdevice))]
                {
                    unsafe extern "C" {
                        #[link_name = $nv_ldexp]
                        fn operation(x: $float, exponent: i32) -> $float;
                    }
                    // SAFETY: arithmetic, defined for all numbers.
                    unsafe { operation(self, exponent) }
                }
                #[cfg(not(all(target_arch = "nvptx64", rumba_libdevice)))]
                {
                    $libm_ldexp(self, exponent)
                }
            }

            #[inline(always)]
            fn powi(self, exponent: i32) -> Self {
                let mut base = self;
                let mut left = exponent.unsigned_abs();
                let mut power = 1.0;
                while left > 0 {
                    if left & 1 == 1 {
                        power *= base;
                    }
                    base *= base;
                    left >>= 1;
                }
                if exponent < 0 { 1.0 / power } else { power }
            }

            #[inline(always)]
            fn rem_euclid(self, divisor: Self) -> Self {
                let remainder = GpuFloat::fmod(self, divisor);
                if remainder < 0.0 {
                    remainder + GpuFloat::abs(divisor)
                } else {
                    remainder
                }
            }

            #[inline(always)]
            fn div_euclid(self, divisor: Self) -> Self {
                let quotient = GpuFloat::trunc(self / divisor);
                if GpuFloat::fmod(self, divisor) < 0.0 {
                    if divisor > 0.0 { quotient - 1.0 } else { quotient + 1.0 }
                } else {
                    quotient
                }
            }

            #[inline(always)]
            fn signum(self) -> Self {
                $float::signum(self)
            }

            #[inline(always)]
            fn recip(self) -> Self {
                1.0 / self
            }
        }
    };
}

gpu_float! {
    f32:
    instructions {
        sqrt() = "llvm.sqrt.f32", f32::sqrt;
        rsqrt() = "llvm.nvvm.rsqrt.approx.f", single::rsqrt;
        floor() = "llvm.floor.f32", f32::floor;
        ceil() = "llvm.ceil.f32", f32::ceil;
        trunc() = "llvm.trunc.f32", f32::trunc;
        round() = "llvm.round.f32", f32::round;
        round_ties_even() = "llvm.roundeven.f32", f32::round_ties_even;
        abs() = "llvm.fabs.f32", f32::abs;
        copysign(sign) = "llvm.copysign.f32", f32::copysign;
        min(other) = "llvm.minnum.f32", f32::min;
        max(other) = "llvm.maxnum.f32", f32::max;
        mul_add(a, b) = "llvm.fma.f32", f32::mul_add;
    }
    library {
        fmod(divisor) = "__nv_fmodf", libm::fmodf, libm::fmodf;
        remainder(divisor) = "__nv_remainderf", libm::remainderf, libm::remainderf;
        cbrt() = "__nv_cbrtf", libm::cbrtf, f32::cbrt;
        rcbrt() = "__nv_rcbrtf", single::rcbrt, single::rcbrt;
        hypot(other) = "__nv_hypotf", libm::hypotf, f32::hypot;
        rhypot(other) = "__nv_rhypotf", single::rhypot, single::rhypot;
        sin() = "__nv_sinf", libm::sinf, f32::sin;
        cos() = "__nv_cosf", libm::cosf, f32::cos;
        tan() = "__nv_tanf", libm::tanf, f32::tan;
        sin_pi() = "__nv_sinpif", single::sin_pi, single::sin_pi;
        cos_pi() = "__nv_cospif", single::cos_pi, single::cos_pi;
        asin() = "__nv_asinf", libm::asinf, f32::asin;
        acos() = "__nv_acosf", libm::acosf, f32::acos;
        atan() = "__nv_atanf", libm::atanf, f32::atan;
        atan2(x) = "__nv_atan2f", libm::atan2f, f32::atan2;
        sinh() = "__nv_sinhf", libm::sinhf, f32::sinh;
        cosh() = "__nv_coshf", libm::coshf, f32::cosh;
        tanh() = "__nv_tanhf", libm::tanhf, f32::tanh;
        asinh() = "__nv_asinhf", libm::asinhf, f32::asinh;
        acosh() = "__nv_acoshf", single::acosh, f32::acosh;
        atanh() = "__nv_atanhf", libm::atanhf, f32::atanh;
        exp() = "__nv_expf", libm::expf, f32::exp;
        exp2() = "__nv_exp2f", libm::exp2f, f32::exp2;
        exp10() = "__nv_exp10f", libm::exp10f, libm::exp10f;
        exp_m1() = "__nv_expm1f", libm::expm1f, f32::exp_m1;
        ln() = "__nv_logf", libm::logf, f32::ln;
        ln_1p() = "__nv_log1pf", libm::log1pf, f32::ln_1p;
        log2() = "__nv_log2f", libm::log2f, f32::log2;
        log10() = "__nv_log10f", libm::log10f, f32::log10;
        powf(exponent) = "__nv_powf", libm::powf, f32::powf;
        tgamma() = "__nv_tgammaf", libm::tgammaf, libm::tgammaf;
        lgamma() = "__nv_lgammaf", libm::lgammaf, libm::lgammaf;
        norm_cdf() = "__nv_normcdff", single::norm_cdf, single::norm_cdf;
        norm_cdf_inv() = "__nv_normcdfinvf", single::norm_cdf_inv, single::norm_cdf_inv;
        erf_inv() = "__nv_erfinvf", single::erf_inv, single::erf_inv;
        erfc_inv() = "__nv_erfcinvf", single::erfc_inv, single::erfc_inv;
        bessel_j0() = "__nv_j0f", libm::j0f, libm::j0f;
        bessel_j1() = "__nv_j1f", libm::j1f, libm::j1f;
        bessel_y0() = "__nv_y0f", libm::y0f, libm::y0f;
        bessel_y1() = "__nv_y1f", libm::y1f, libm::y1f;
        __erf() = "__nv_erff", libm::erff, libm::erff;
        __erfc() = "__nv_erfcf", libm::erfcf, libm::erfcf;
    }
    orders {
        bessel_jn = "__nv_jnf", libm::jnf;
        bessel_yn = "__nv_ynf", libm::ynf;
    }
    ldexp = "__nv_ldexpf", libm::ldexpf;
}

gpu_float! {
    f64:
    instructions {
        sqrt() = "llvm.sqrt.f64", f64::sqrt;
        floor() = "llvm.floor.f64", f64::floor;
        ceil() = "llvm.ceil.f64", f64::ceil;
        trunc() = "llvm.trunc.f64", f64::trunc;
        round() = "llvm.round.f64", f64::round;
        round_ties_even() = "llvm.roundeven.f64", f64::round_ties_even;
        abs() = "llvm.fabs.f64", f64::abs;
        copysign(sign) = "llvm.copysign.f64", f64::copysign;
        min(other) = "llvm.minnum.f64", f64::min;
        max(other) = "llvm.maxnum.f64", f64::max;
        mul_add(a, b) = "llvm.fma.f64", f64::mul_add;
    }
    library {
        rsqrt() = "__nv_rsqrt", double::rsqrt, double::rsqrt;
        fmod(divisor) = "__nv_fmod", libm::fmod, libm::fmod;
        remainder(divisor) = "__nv_remainder", libm::remainder, libm::remainder;
        cbrt() = "__nv_cbrt", libm::cbrt, f64::cbrt;
        rcbrt() = "__nv_rcbrt", double::rcbrt, double::rcbrt;
        hypot(other) = "__nv_hypot", libm::hypot, f64::hypot;
        rhypot(other) = "__nv_rhypot", double::rhypot, double::rhypot;
        sin() = "__nv_sin", libm::sin, f64::sin;
        cos() = "__nv_cos", libm::cos, f64::cos;
        tan() = "__nv_tan", libm::tan, f64::tan;
        sin_pi() = "__nv_sinpi", double::sin_pi, double::sin_pi;
        cos_pi() = "__nv_cospi", double::cos_pi, double::cos_pi;
        asin() = "__nv_asin", libm::asin, f64::asin;
        acos() = "__nv_acos", libm::acos, f64::acos;
        atan() = "__nv_atan", libm::atan, f64::atan;
        atan2(x) = "__nv_atan2", libm::atan2, f64::atan2;
        sinh() = "__nv_sinh", libm::sinh, f64::sinh;
        cosh() = "__nv_cosh", libm::cosh, f64::cosh;
        tanh() = "__nv_tanh", libm::tanh, f64::tanh;
        asinh() = "__nv_asinh", libm::asinh, f64::asinh;
        acosh() = "__nv_acosh", double::acosh, f64::acosh;
        atanh() = "__nv_atanh", libm::atanh, f64::atanh;
        exp() = "__nv_exp", libm::exp, f64::exp;
        exp2() = "__nv_exp2", libm::exp2, f64::exp2;
        exp10() = "__nv_exp10", libm::exp10, libm::exp10;
        exp_m1() = "__nv_expm1", libm::expm1, f64::exp_m1;
        ln() = "__nv_log", libm::log, f64::ln;
        ln_1p() = "__nv_log1p", libm::log1p, f64::ln_1p;
        log2() = "__nv_log2", libm::log2, f64::log2;
        log10() = "__nv_log10", libm::log10, f64::log10;
        powf(exponent) = "__nv_pow", libm::pow, f64::powf;
        tgamma() = "__nv_tgamma", libm::tgamma, libm::tgamma;
        lgamma() = "__nv_lgamma", libm::lgamma, libm::lgamma;
        norm_cdf() = "__nv_normcdf", double::norm_cdf, double::norm_cdf;
        norm_cdf_inv() = "__nv_normcdfinv", double::norm_cdf_inv, double::norm_cdf_inv;
        erf_inv() = "__nv_erfinv", double::erf_inv, double::erf_inv;
        erfc_inv() = "__nv_erfcinv", double::erfc_inv, double::erfc_inv;
        bessel_j0() = "__nv_j0", libm::j0, libm::j0;
        bessel_j1() = "__nv_j1", libm::j1, libm::j1;
        bessel_y0() = "__nv_y0", libm::y0, libm::y0;
        bessel_y1() = "__nv_y1", libm::y1, libm::y1;
        __erf() = "__nv_erf", libm::erf, libm::erf;
        __erfc() = "__nv_erfc", libm::erfc, libm::erfc;
    }
    orders {
        bessel_jn = "__nv_jn", libm::jn;
        bessel_yn = "__nv_yn", libm::yn;
    }
    ldexp = "__nv_ldexp", libm::ldexp;
}

/// Functions for `%`: the link stage of `cuda_builder` replaces LLVM's instruction, which the target computes with a
/// rounded quotient, by these.
#[cfg(target_arch = "nvptx64")]
mod remainders {
    use super::GpuFloat;

    #[unsafe(no_mangle)]
    extern "C" fn __rumba_rem_f32(x: f32, divisor: f32) -> f32 {
        x.fmod(divisor)
    }

    #[unsafe(no_mangle)]
    extern "C" fn __rumba_rem_f64(x: f64, divisor: f64) -> f64 {
        x.fmod(divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::GpuFloat;

    #[test]
    fn powers_by_multiplication() {
        assert_eq!(GpuFloat::powi(3.0_f64, 5), 243.0);
        assert_eq!(GpuFloat::powi(2.0_f32, -3), 0.125);
        assert_eq!(GpuFloat::powi(0.0_f32, 0), 1.0);
        assert_eq!(GpuFloat::powi(-1.0_f64, i32::MIN), 1.0);
    }

    #[test]
    fn host_functions_are_the_standard_library_s() {
        assert_eq!(GpuFloat::sin(1.0_f32), 1.0_f32.sin());
        assert_eq!(GpuFloat::atan2(1.0_f64, -2.0), 1.0_f64.atan2(-2.0));
        assert_eq!(GpuFloat::fract(-1.25_f64), -0.25);
        assert!((super::erf(1.0_f64) - 0.842_700_792_949_714_9).abs() < 1e-15);
    }

    #[test]
    fn remainders_have_the_signs_of_the_standard_library() {
        for x in [7.5_f64, -7.5, 8.0, -8.0, 0.0] {
            for y in [2.0, -2.0, 2.5, -2.5] {
                assert_eq!(GpuFloat::rem_euclid(x, y), x.rem_euclid(y), "{x} {y}");
                assert_eq!(GpuFloat::div_euclid(x, y), x.div_euclid(y), "{x} {y}");
                assert_eq!(GpuFloat::fmod(x, y), x % y, "{x} {y}");
            }
        }
        assert_eq!((GpuFloat::remainder(7.5_f32, 2.0), GpuFloat::remainder(5.0_f64, 2.0)), (-0.5, 1.0));
    }

    #[test]
    fn integer_arguments() {
        assert_eq!((GpuFloat::ldexp(0.75_f32, 3), GpuFloat::ldexp(1.0_f64, -1074)), (6.0, 5e-324));
        assert!((GpuFloat::bessel_jn(2.0_f64, 3) - 0.128_943_249_474_402_05).abs() < 1e-15);
    }
}
