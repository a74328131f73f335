//! The functions of libdevice that the crate `libm` lacks, made of those it has.
//!
//! In double precision errors stay below about 10 ulp; single precision is computed in double.

/// Double precision.
pub(super) mod double {
    use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

    use crate::number::float::GpuFloat;

    pub(crate) fn rsqrt(x: f64) -> f64 {
        1.0 / GpuFloat::sqrt(x)
    }

    pub(crate) fn rcbrt(x: f64) -> f64 {
        1.0 / libm::cbrt(x)
    }

    pub(crate) fn rhypot(x: f64, y: f64) -> f64 {
        1.0 / libm::hypot(x, y)
    }

    /// `libm`'s takes large negative numbers for positive ones.
    #[cfg(any(target_arch = "nvptx64", test))]
    pub(crate) fn acosh(x: f64) -> f64 {
        if x < 1.0 { f64::NAN } else { libm::acosh(x) }
    }

    /// From here on every number is an even integer.
    const EVEN: f64 = (1_u64 << 53) as f64;

    /// The nearest multiple of a quarter turn, as a number from 0 to 3, and the exact rest in half turns.
    fn quarters(x: f64) -> (i64, f64) {
        let quarters = GpuFloat::round_ties_even(2.0 * x);
        (quarters as i64 & 3, x - 0.5 * quarters)
    }

    pub(crate) fn sin_pi(x: f64) -> f64 {
        if GpuFloat::trunc(x) == x {
            return GpuFloat::copysign(0.0, x) * if x.is_finite() { 1.0 } else { f64::NAN };
        }
        let (quarter, rest) = quarters(x);
        let (angle, sign) = (PI * rest, if quarter & 2 == 0 { 1.0 } else { -1.0 });
        sign * if quarter & 1 == 0 { libm::sin(angle) } else { libm::cos(angle) }
    }

    pub(crate) fn cos_pi(x: f64) -> f64 {
        if GpuFloat::abs(x) >= EVEN {
            return if x.is_finite() { 1.0 } else { f64::NAN };
        }
        let (quarter, rest) = quarters(x);
        let (angle, sign) = (PI * rest, if (quarter + 1) & 2 == 0 { 1.0 } else { -1.0 });
        // Adding 0 turns -0 into +0.
        sign * if quarter & 1 == 0 { libm::cos(angle) } else { libm::sin(angle) } + 0.0
    }

    /// The rounding error of [`FRAC_1_SQRT_2`].
    const FRAC_1_SQRT_2_REST: f64 = -4.833_646_656_726_457e-17;

    pub(crate) fn norm_cdf(x: f64) -> f64 {
        // Beyond, the result is 0 or 1, and products below would be infinite.
        let x = x.clamp(-40.0, 40.0);
        let t = x * FRAC_1_SQRT_2;
        // Far out a rounding error of the argument is many of the result; the derivative takes it back.
        let lost = GpuFloat::mul_add(x, FRAC_1_SQRT_2, -t) + x * FRAC_1_SQRT_2_REST;
        0.5 * (libm::erfc(-t) + lost * FRAC_2_SQRT_PI * libm::exp(-t * t))
    }

    pub(crate) fn norm_cdf_inv(p: f64) -> f64 {
        quantile(p - 0.5, GpuFloat::min(p, 1.0 - p))
    }

    pub(crate) fn erf_inv(x: f64) -> f64 {
        FRAC_1_SQRT_2 * quantile(0.5 * x, 0.5 * (1.0 - GpuFloat::abs(x)))
    }

    pub(crate) fn erfc_inv(x: f64) -> f64 {
        FRAC_1_SQRT_2 * quantile(0.5 * (1.0 - x), 0.5 * GpuFloat::min(x, 2.0 - x))
    }

    /// The number below which one half and `centre` of the normal distribution lie. `tail` is how much
    /// lies beyond it. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution"
    /// (Applied Statistics 37, 1988), PPND16.
    fn quantile(centre: f64, tail: f64) -> f64 {
        if GpuFloat::abs(centre) <= 0.425 {
            let r = 0.180_625 - centre * centre;
            return centre * (polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r));
        }
        if tail <= 0.0 {
            return if tail == 0.0 { GpuFloat::copysign(f64::INFINITY, centre) } else { f64::NAN };
        }
        let r = GpuFloat::sqrt(-libm::log(tail));
        let magnitude = if r <= 5.0 {
            polynomial(&MIDDLE.0, r - 1.6) / polynomial(&MIDDLE.1, r - 1.6)
        } else {
            polynomial(&FAR.0, r - 5.0) / polynomial(&FAR.1, r - 5.0)
        };
        GpuFloat::copysign(magnitude, centre)
    }

    fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
        coefficients.iter().rev().fold(0.0, |sum, &c| GpuFloat::mul_add(sum, x, c))
    }

    /// Numerator and denominator, constant terms first.
    type Rational = ([f64; 8], [f64; 8]);

    #[rustfmt::skip]
    #[expect(clippy::excessive_precision, reason = "as the paper prints them")]
    const CENTRE: Rational = (
        [3.387_132_872_796_366_608, 1.331_416_678_917_843_774_5e2, 1.971_590_950_306_551_442_7e3, 1.373_169_376_550_946_112_5e4,
         4.592_195_393_154_987_145_7e4, 6.726_577_092_700_870_085_3e4, 3.343_057_558_358_812_810_5e4, 2.509_080_928_730_122_672_7e3],
        [1.0, 4.231_333_070_160_091_125_2e1, 6.871_870_074_920_579_083e2, 5.394_196_021_424_751_107_7e3,
         2.121_379_430_158_659_586_7e4, 3.930_789_580_009_271_061e4, 2.872_908_573_572_194_267_4e4, 5.226_495_278_852_854_561e3],
    );
    #[rustfmt::skip]
    #[expect(clippy::excessive_precision, reason = "as the paper prints them")]
    const MIDDLE: Rational = (
        [1.423_437_110_749_683_577_34, 4.630_337_846_156_545_295_9, 5.769_497_221_460_691_405_5, 3.647_848_324_763_204_605_04,
         1.270_458_252_452_368_382_58, 2.417_807_251_774_506_117_7e-1, 2.272_384_498_926_918_458_33e-2, 7.745_450_142_783_414_076_4e-4],
        [1.0, 2.053_191_626_637_758_821_87, 1.676_384_830_183_803_849_4, 6.897_673_349_851_000_045_5e-1,
         1.481_039_764_274_800_745_9e-1, 1.519_866_656_361_645_719_66e-2, 5.475_938_084_995_344_946e-4, 1.050_750_071_644_416_843_24e-9],
    );
    #[rustfmt::skip]
    #[expect(clippy::excessive_precision, reason = "as the paper prints them")]
    const FAR: Rational = (
        [6.657_904_643_501_103_777_2, 5.463_784_911_164_114_369_9, 1.784_826_539_917_291_335_8, 2.965_605_718_285_048_912_3e-1,
         2.653_218_952_657_612_309_3e-2, 1.242_660_947_388_078_438_6e-3, 2.711_555_568_743_487_578_15e-5, 2.010_334_399_292_288_132_65e-7],
        [1.0, 5.998_322_065_558_879_376_9e-1, 1.369_298_809_227_358_053_1e-1, 1.487_536_129_085_061_485_25e-2,
         7.868_691_311_456_132_591e-4, 1.846_318_317_510_054_681_8e-5, 1.421_511_758_316_445_888_7e-7, 2.044_263_103_389_939_785_64e-15],
    );
}

/// Single precision.
pub(super) mod single {
    use super::double;

    /// On the device there is an instruction.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn rsqrt(x: f32) -> f32 {
        double::rsqrt(f64::from(x)) as f32
    }

    /// See [`double::acosh`].
    #[cfg(any(target_arch = "nvptx64", test))]
    pub(crate) fn acosh(x: f32) -> f32 {
        if x < 1.0 { f32::NAN } else { libm::acoshf(x) }
    }

    macro_rules! by_double {
        ($($function:ident($($argument:ident),*);)*) => {$(
            pub(crate) fn $function($($argument: f32),*) -> f32 {
                double::$function($(f64::from($argument)),*) as f32
            }
        )*};
    }

    by_double! {
        rcbrt(x); rhypot(x, y); sin_pi(x); cos_pi(x); norm_cdf(x); norm_cdf_inv(p); erf_inv(x); erfc_inv(x);
    }
}

#[cfg(test)]
mod tests {
    use super::double::{cos_pi, erf_inv, erfc_inv, norm_cdf, norm_cdf_inv, rcbrt, rhypot, sin_pi};
    use super::{double, single};
    use crate::number::float::{erf, erfc};

    #[track_caller]
    fn near(x: f64, expected: f64) {
        let ulps = (x - expected).abs() / (expected.abs() * f64::EPSILON).max(f64::from_bits(1));
        assert!(ulps <= 10.0, "{x:e} {expected:e}: {ulps} ulp");
    }

    #[test]
    fn half_turns_are_exact() {
        for (x, sin, cos) in [
            (0.0, 0.0, 1.0),
            (0.5, 1.0, 0.0),
            (1.0, 0.0, -1.0),
            (1.5, -1.0, 0.0),
            (-2.5, -1.0, 0.0),
            (1e9 + 1.0, 0.0, -1.0),
            (4_503_599_627_370_497.0, 0.0, -1.0),
            (1e300, 0.0, 1.0),
        ] {
            assert_eq!((sin_pi(x), cos_pi(x)), (sin, cos), "{x}");
        }
        near(sin_pi(1.0 / 6.0), 0.5);
        near(cos_pi(-5.0 + 1.0 / 3.0), -0.5);
        assert!(sin_pi(-0.0).is_sign_negative() && sin_pi(f64::INFINITY).is_nan() && cos_pi(f64::NAN).is_nan());
    }

    #[test]
    fn the_normal_distribution() {
        near(norm_cdf(0.0), 0.5);
        near(norm_cdf(1.0), 0.841_344_746_068_542_9);
        near(norm_cdf(-10.0), 7.619_853_024_160_527e-24);
        near(norm_cdf(-37.0), 5.725_571_222_524_577e-300);
        assert_eq!((norm_cdf(100.0), norm_cdf(-100.0)), (1.0, 0.0));
        assert_eq!((norm_cdf(f64::INFINITY), norm_cdf(f64::NEG_INFINITY)), (1.0, 0.0));
        assert!(norm_cdf(f64::NAN).is_nan());
        near(norm_cdf_inv(0.841_344_746_068_542_9), 1.0);
        near(norm_cdf_inv(7.619_853_024_160_527e-24), -10.0);
        assert_eq!((norm_cdf_inv(0.0), norm_cdf_inv(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(norm_cdf_inv(-0.1).is_nan() && norm_cdf_inv(1.1).is_nan());
    }

    #[test]
    fn inverses_of_the_error_functions() {
        for x in [1e-300, 1e-8, 0.1, 0.5, 1.0] {
            near(erf_inv(erf(x)), x);
        }
        // The rounding of `erf(2.0)` shows.
        near(erf_inv(erf(2.0)), 1.999_999_999_999_999);
        for x in [0.3, 1.0, 3.0, 10.0, 25.0] {
            near(erfc_inv(erfc(x)), x);
        }
        assert_eq!(
            (erf_inv(-1.0), erfc_inv(0.0), erfc_inv(2.0)),
            (f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY)
        );
        assert!(erf_inv(1.5).is_nan() && erfc_inv(-1.0).is_nan() && erfc_inv(3.0).is_nan());
    }

    #[test]
    fn acosh_has_no_negative_numbers() {
        assert!(single::acosh(-6.652_325e7).is_nan() && single::acosh(f32::NAN).is_nan());
        assert!(double::acosh(-1e300).is_nan() && double::acosh(f64::NAN).is_nan());
        assert_eq!((single::acosh(1.0), double::acosh(1.0)), (0.0, 0.0));
    }

    #[test]
    fn reciprocals() {
        near(rcbrt(-8.0), -0.5);
        near(rhypot(3e200, 4e200), 2e-201);
    }
}
