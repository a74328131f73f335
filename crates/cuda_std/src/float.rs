//! Mathematics of `f32` and `f64`.
//!
//! The core library has no square root, sine or power; [`GpuFloat`] adds them, with the names that
//! the standard library uses. What the machine has an instruction for becomes that instruction. The
//! rest is NVIDIA's libdevice where the builder found it, and the crate `libm` where not; the two
//! differ in the last bits. On the host it is the standard library's.
//!
//! Errors are in units in the last place (ulp), as NVIDIA states them for libdevice (CUDA C++
//! Programming Guide, "Mathematical Functions"), over the full range; `f32` first, then `f64`.

/// Functions of floating-point numbers.
///
/// ```
/// use cuda_std::prelude::*;
///
/// fn norm<F: GpuFloat>(x: F, y: F) -> F {
///     GpuFloat::hypot(x, y)
/// }
/// assert_eq!(norm(3.0_f32, 4.0), 5.0);
/// ```
pub trait GpuFloat: Copy + PartialOrd + 'static {
    /// The square root, correctly rounded. `sqrt.rn`; PTX 1.4, sm_20.
    #[must_use]
    fn sqrt(self) -> Self;
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
    /// The fractional part, with the sign of the number.
    #[must_use]
    fn fract(self) -> Self;
    /// An integer power, by repeated multiplication.
    #[must_use]
    fn powi(self, exponent: i32) -> Self;
    /// One over the square root. 2 ulp, 1 ulp.
    #[must_use]
    fn rsqrt(self) -> Self;
    /// The cube root. 1 ulp, 1 ulp.
    #[must_use]
    fn cbrt(self) -> Self;
    /// The length of the hypotenuse, without overflow between. 3 ulp, 2 ulp.
    #[must_use]
    fn hypot(self, other: Self) -> Self;
    /// The sine of an angle in radians. 2 ulp, 2 ulp.
    #[must_use]
    fn sin(self) -> Self;
    /// The cosine of an angle in radians. 2 ulp, 2 ulp.
    #[must_use]
    fn cos(self) -> Self;
    /// Sine and cosine together.
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
    /// The tangent of an angle in radians. 4 ulp, 2 ulp.
    #[must_use]
    fn tan(self) -> Self;
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
    /// See [`erf`].
    #[doc(hidden)]
    #[must_use]
    fn __erf(self) -> Self;
    /// See [`erfc`].
    #[doc(hidden)]
    #[must_use]
    fn __erfc(self) -> Self;
    /// The gamma function. 5 ulp, 10 ulp.
    #[must_use]
    fn tgamma(self) -> Self;
}

/// The error function. 2 ulp for `f32`, 2 ulp for `f64`.
///
/// A function rather than a method, because the standard library is about to have the method.
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

/// Implements the trait for one type from the table of its functions.
macro_rules! gpu_float {
    ($float:ident:
        instructions { $($method:ident($($operand:ident),*) = $llvm:literal;)* }
        library { $($function:ident($($argument:ident),*) = $libdevice:literal, $libm:ident;)* }
    ) => {
        impl GpuFloat for $float {
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
                    $float::$method(self $(, $operand)*)
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
                        libm::$libm(self $(, $argument)*)
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        host::$float::$function(self $(, $argument)*)
                    }
                }
            )*

            #[inline(always)]
            fn fract(self) -> Self {
                self - GpuFloat::trunc(self)
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
            fn rsqrt(self) -> Self {
                1.0 / GpuFloat::sqrt(self)
            }

            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                (GpuFloat::sin(self), GpuFloat::cos(self))
            }
        }
    };
}

gpu_float! {
    f32:
    instructions {
        sqrt() = "llvm.sqrt.f32";
        floor() = "llvm.floor.f32";
        ceil() = "llvm.ceil.f32";
        trunc() = "llvm.trunc.f32";
        round() = "llvm.round.f32";
        round_ties_even() = "llvm.roundeven.f32";
        abs() = "llvm.fabs.f32";
        copysign(sign) = "llvm.copysign.f32";
        min(other) = "llvm.minnum.f32";
        max(other) = "llvm.maxnum.f32";
        mul_add(a, b) = "llvm.fma.f32";
    }
    library {
        cbrt() = "__nv_cbrtf", cbrtf;
        hypot(other) = "__nv_hypotf", hypotf;
        sin() = "__nv_sinf", sinf;
        cos() = "__nv_cosf", cosf;
        tan() = "__nv_tanf", tanf;
        asin() = "__nv_asinf", asinf;
        acos() = "__nv_acosf", acosf;
        atan() = "__nv_atanf", atanf;
        atan2(x) = "__nv_atan2f", atan2f;
        sinh() = "__nv_sinhf", sinhf;
        cosh() = "__nv_coshf", coshf;
        tanh() = "__nv_tanhf", tanhf;
        asinh() = "__nv_asinhf", asinhf;
        acosh() = "__nv_acoshf", acoshf;
        atanh() = "__nv_atanhf", atanhf;
        exp() = "__nv_expf", expf;
        exp2() = "__nv_exp2f", exp2f;
        exp_m1() = "__nv_expm1f", expm1f;
        ln() = "__nv_logf", logf;
        ln_1p() = "__nv_log1pf", log1pf;
        log2() = "__nv_log2f", log2f;
        log10() = "__nv_log10f", log10f;
        powf(exponent) = "__nv_powf", powf;
        __erf() = "__nv_erff", erff;
        __erfc() = "__nv_erfcf", erfcf;
        tgamma() = "__nv_tgammaf", tgammaf;
    }
}

gpu_float! {
    f64:
    instructions {
        sqrt() = "llvm.sqrt.f64";
        floor() = "llvm.floor.f64";
        ceil() = "llvm.ceil.f64";
        trunc() = "llvm.trunc.f64";
        round() = "llvm.round.f64";
        round_ties_even() = "llvm.roundeven.f64";
        abs() = "llvm.fabs.f64";
        copysign(sign) = "llvm.copysign.f64";
        min(other) = "llvm.minnum.f64";
        max(other) = "llvm.maxnum.f64";
        mul_add(a, b) = "llvm.fma.f64";
    }
    library {
        cbrt() = "__nv_cbrt", cbrt;
        hypot(other) = "__nv_hypot", hypot;
        sin() = "__nv_sin", sin;
        cos() = "__nv_cos", cos;
        tan() = "__nv_tan", tan;
        asin() = "__nv_asin", asin;
        acos() = "__nv_acos", acos;
        atan() = "__nv_atan", atan;
        atan2(x) = "__nv_atan2", atan2;
        sinh() = "__nv_sinh", sinh;
        cosh() = "__nv_cosh", cosh;
        tanh() = "__nv_tanh", tanh;
        asinh() = "__nv_asinh", asinh;
        acosh() = "__nv_acosh", acosh;
        atanh() = "__nv_atanh", atanh;
        exp() = "__nv_exp", exp;
        exp2() = "__nv_exp2", exp2;
        exp_m1() = "__nv_expm1", expm1;
        ln() = "__nv_log", log;
        ln_1p() = "__nv_log1p", log1p;
        log2() = "__nv_log2", log2;
        log10() = "__nv_log10", log10;
        powf(exponent) = "__nv_pow", pow;
        __erf() = "__nv_erf", erf;
        __erfc() = "__nv_erfc", erfc;
        tgamma() = "__nv_tgamma", tgamma;
    }
}

/// The host's functions under the trait's names: the standard library's, and `libm`'s for those it
/// has not.
#[cfg(not(target_arch = "nvptx64"))]
mod host {
    macro_rules! functions {
        ($float:ident { $($function:ident($($argument:ident),*);)* } libm { $($missing:ident = $libm:ident;)* }) => {
            pub(super) mod $float {
                type Float = core::primitive::$float;
                $(
                    pub(crate) fn $function(x: Float $(, $argument: Float)*) -> Float {
                        Float::$function(x $(, $argument)*)
                    }
                )*
                $(
                    pub(crate) fn $missing(x: Float) -> Float {
                        libm::$libm(x)
                    }
                )*
            }
        };
    }

    macro_rules! both {
        ($($function:ident($($argument:ident),*);)*) => {
            functions! { f32 { $($function($($argument),*);)* } libm { __erf = erff; __erfc = erfcf; tgamma = tgammaf; } }
            functions! { f64 { $($function($($argument),*);)* } libm { __erf = erf; __erfc = erfc; tgamma = tgamma; } }
        };
    }

    both! {
        cbrt(); hypot(other); sin(); cos(); tan(); asin(); acos(); atan(); atan2(x); sinh(); cosh(); tanh();
        asinh(); acosh(); atanh(); exp(); exp2(); exp_m1(); ln(); ln_1p(); log2(); log10(); powf(exponent);
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
}
