//! Every function of `cuda_std::float` as kernels. The module `ulp` of rumba-tests has the references.
//!
//! A function of one `f32` is compared with itself in `f64` here, where four billion inputs take a GPU less than a
//! second. All other values go to the host.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// The error of a function at one input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Worst {
    /// In units in the last place of the result; infinite where one is NaN and the other is not.
    pub ulps: f32,
    /// The bits of the input.
    pub input: u32,
}

/// The tested inputs: the numbers with the bits `first + step * i`, equally many for each thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Inputs {
    /// Bits of the first input.
    pub first: u32,
    /// Step from one input to the next; odd, so that 2³² inputs are all different.
    pub step: u32,
    /// Inputs of each thread.
    pub per_thread: u32,
    /// Zero.
    pub padding: u32,
    /// Numbers outside are not tried.
    pub domain: [f64; 2],
    /// Results below count errors in units of this number: for functions that have zeros.
    pub floor: f64,
}

/// The error of a result, in units in the last place of an `f32` as large as the reference.
#[must_use]
pub fn error(result: f32, reference: f64, floor: f64) -> f32 {
    if result.is_nan() || reference.is_nan() {
        return if result.is_nan() == reference.is_nan() { 0.0 } else { f32::INFINITY };
    }
    // Results that round to infinity count as the next power of 2.
    const BEYOND: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
    let limited = |x: f64| x.clamp(-BEYOND, BEYOND);
    let (result, reference) = (limited(f64::from(result)), limited(reference));
    let least = if floor > f64::from(f32::MIN_POSITIVE) { floor } else { f64::from(f32::MIN_POSITIVE) };
    let magnitude = reference.abs().clamp(least, f64::from(f32::MAX));
    // 2²³ over the power of 2 at or below the magnitude.
    let exponent = magnitude.to_bits() >> 52;
    let per_ulp = f64::from_bits((2046 - exponent) << 52) * f64::from(1 << 23);
    ((result - reference).abs() * per_ulp) as f32
}

/// The worst of a thread's inputs.
#[inline(always)]
fn search(inputs: Inputs, single: impl Fn(f32) -> f32, double: impl Fn(f64) -> f64) -> Worst {
    let (thread, threads) = (grid::<1>().get() as u32, gridsize::<1>()[0] as u32);
    let mut worst = Worst::default();
    for i in 0..inputs.per_thread {
        let number = i.wrapping_mul(threads).wrapping_add(thread);
        let input = inputs.first.wrapping_add(number.wrapping_mul(inputs.step));
        let x = f32::from_bits(input);
        let wide = f64::from(x);
        if wide < inputs.domain[0] || wide > inputs.domain[1] {
            continue;
        }
        let ulps = error(single(x), double(wide), inputs.floor);
        if ulps > worst.ulps {
            worst = Worst { ulps, input };
        }
    }
    worst
}

/// Calls a macro with all functions: of one number, then of two. Each is its name in the table, its kernels for `f32`
/// and `f64`, and the function.
#[macro_export]
macro_rules! functions {
    ($callback:ident) => {
        $callback! {
            unary {
                sqrt sqrt_f32 sqrt_f64 GpuFloat::sqrt;
                rsqrt rsqrt_f32 rsqrt_f64 GpuFloat::rsqrt;
                cbrt cbrt_f32 cbrt_f64 GpuFloat::cbrt;
                rcbrt rcbrt_f32 rcbrt_f64 GpuFloat::rcbrt;
                sin sin_f32 sin_f64 GpuFloat::sin;
                cos cos_f32 cos_f64 GpuFloat::cos;
                tan tan_f32 tan_f64 GpuFloat::tan;
                sin_pi sin_pi_f32 sin_pi_f64 GpuFloat::sin_pi;
                cos_pi cos_pi_f32 cos_pi_f64 GpuFloat::cos_pi;
                asin asin_f32 asin_f64 GpuFloat::asin;
                acos acos_f32 acos_f64 GpuFloat::acos;
                atan atan_f32 atan_f64 GpuFloat::atan;
                sinh sinh_f32 sinh_f64 GpuFloat::sinh;
                cosh cosh_f32 cosh_f64 GpuFloat::cosh;
                tanh tanh_f32 tanh_f64 GpuFloat::tanh;
                asinh asinh_f32 asinh_f64 GpuFloat::asinh;
                acosh acosh_f32 acosh_f64 GpuFloat::acosh;
                atanh atanh_f32 atanh_f64 GpuFloat::atanh;
                exp exp_f32 exp_f64 GpuFloat::exp;
                exp2 exp2_f32 exp2_f64 GpuFloat::exp2;
                exp10 exp10_f32 exp10_f64 GpuFloat::exp10;
                exp_m1 exp_m1_f32 exp_m1_f64 GpuFloat::exp_m1;
                ln ln_f32 ln_f64 GpuFloat::ln;
                ln_1p ln_1p_f32 ln_1p_f64 GpuFloat::ln_1p;
                log2 log2_f32 log2_f64 GpuFloat::log2;
                log10 log10_f32 log10_f64 GpuFloat::log10;
                erf erf_f32 erf_f64 erf;
                erfc erfc_f32 erfc_f64 erfc;
                erf_inv erf_inv_f32 erf_inv_f64 GpuFloat::erf_inv;
                erfc_inv erfc_inv_f32 erfc_inv_f64 GpuFloat::erfc_inv;
                norm_cdf norm_cdf_f32 norm_cdf_f64 GpuFloat::norm_cdf;
                norm_cdf_inv norm_cdf_inv_f32 norm_cdf_inv_f64 GpuFloat::norm_cdf_inv;
                tgamma tgamma_f32 tgamma_f64 GpuFloat::tgamma;
                lgamma lgamma_f32 lgamma_f64 GpuFloat::lgamma;
                bessel_j0 bessel_j0_f32 bessel_j0_f64 GpuFloat::bessel_j0;
                bessel_j1 bessel_j1_f32 bessel_j1_f64 GpuFloat::bessel_j1;
                bessel_y0 bessel_y0_f32 bessel_y0_f64 GpuFloat::bessel_y0;
                bessel_y1 bessel_y1_f32 bessel_y1_f64 GpuFloat::bessel_y1;
            }
            binary {
                powf powf_f32 powf_f64 GpuFloat::powf;
                atan2 atan2_f32 atan2_f64 GpuFloat::atan2;
                hypot hypot_f32 hypot_f64 GpuFloat::hypot;
                rhypot rhypot_f32 rhypot_f64 GpuFloat::rhypot;
                fmod fmod_f32 fmod_f64 GpuFloat::fmod;
                remainder remainder_f32 remainder_f64 GpuFloat::remainder;
            }
        }
    };
}

macro_rules! kernels {
    (
        unary { $($unary:ident $search:ident $unary_f64:ident $of_one:path;)* }
        binary { $($binary:ident $binary_f32:ident $binary_f64:ident $of_two:path;)* }
    ) => {
        $(
            #[doc = concat!("The worst errors of `", stringify!($unary), "` in `f32`.")]
            #[kernel]
            pub fn $search(inputs: Inputs, mut worst: DisjointSlice<Worst>) {
                if let Some(worst) = worst.own() {
                    *worst = search(inputs, |x: f32| $of_one(x), |x: f64| $of_one(x));
                }
            }

            #[doc = concat!("The values of `", stringify!($unary), "` in `f64`.")]
            #[kernel]
            pub fn $unary_f64(x: &[f64], mut y: DisjointSlice<f64>) {
                let i = grid::<1>();
                if let Some(y) = y.get_mut(i) {
                    *y = $of_one(x[i]);
                }
            }
        )*
        $(
            #[doc = concat!("The values of `", stringify!($binary), "` in `f32`.")]
            #[kernel]
            pub fn $binary_f32(a: &[f32], b: &[f32], mut y: DisjointSlice<f32>) {
                let i = grid::<1>();
                if let Some(y) = y.get_mut(i) {
                    *y = $of_two(a[i], b[i]);
                }
            }

            #[doc = concat!("The values of `", stringify!($binary), "` in `f64`.")]
            #[kernel]
            pub fn $binary_f64(a: &[f64], b: &[f64], mut y: DisjointSlice<f64>) {
                let i = grid::<1>();
                if let Some(y) = y.get_mut(i) {
                    *y = $of_two(a[i], b[i]);
                }
            }
        )*
    };
}

use cuda_std::float::{erf, erfc};

functions!(kernels);
