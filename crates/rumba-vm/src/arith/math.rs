//! The transcendental functions, computed in `f64` and rounded to `f32` once.
//!
//! The instructions are approximate, with documented error bounds; the polynomials here are accurate to about 2^-40, so
//! that the results are correctly rounded but for rare ties. Everything is free of branches.

use crate::arith::float::{Mode, NAN_F32};
use crate::arith::scalar::Rounding;
use crate::arith::{Arith, F32, F64, select};

/// Adding it rounds a small number to an integer and leaves that in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `c[0] + c[1] x + c[2] x² + …`
#[inline(always)]
fn polynomial<A: Arith, const N: usize>(x: F64<A>, c: [f64; N]) -> F64<A> {
    let mut sum = F64::from(c[N - 1]);
    let mut index = N - 1;
    while index > 0 {
        index -= 1;
        sum = sum * x + c[index];
    }
    sum
}

/// One turn over 2 pi.
const PER_TURN: f32 = 0.159_154_94;

/// Sine.
#[inline(always)]
pub fn sin<A: Arith>(x: F32<A>) -> F32<A> {
    circular(x, 0)
}

/// Cosine.
#[inline(always)]
pub fn cos<A: Arith>(x: F32<A>) -> F32<A> {
    circular(x, 1)
}

/// Of sines: (sin(r) - r) / r³, in r².
const SINE: [f64; 6] = [
    -1.666_666_666_666_663_2e-1,
    8.333_333_333_322_118e-3,
    -1.984_126_982_958_954e-4,
    2.755_731_362_138_572_5e-6,
    -2.505_074_776_285_780_8e-8,
    1.589_623_015_765_465_7e-10,
];

/// Of cosines, in r².
const COSINE: [f64; 8] = [
    1.0,
    -0.5,
    4.166_666_666_666_66e-2,
    -1.388_888_888_887_305_6e-3,
    2.480_158_728_885_171_8e-5,
    -2.755_731_417_929_674e-7,
    2.087_570_084_197_473e-9,
    -1.135_853_652_138_768_2e-11,
];

/// Sine of `x` and a quarter turn if `quarter`.
///
/// As on the hardware, the angle is made one in turns by a product in `f32` that is rounded towards zero, whose error
/// grows with the angle; what follows is exact to the last place.
#[inline(always)]
fn circular<A: Arith>(x: F32<A>, quarter: u64) -> F32<A> {
    let turns = Mode::rounding(Rounding::Zero).round(x.widen() * f64::from(PER_TURN)).widen();
    let turns = turns - turns.round(Rounding::Nearest);
    // From -2 to 2 quarters.
    let shifted = turns * 4.0 + ROUND;
    let quadrant = shifted.to_bits() + quarter;
    let r = (turns * 4.0 - (shifted - ROUND)) * std::f64::consts::FRAC_PI_2;
    let z = r * r;
    let sine = r + r * z * polynomial(z, SINE);
    let cosine = polynomial(z, COSINE);
    let value = select((quadrant & 1).ne(0), cosine, sine);
    let value = F64::from_bits(value.to_bits() ^ (quadrant & 2) << 62);
    select(x.abs().lt(f32::INFINITY), value.narrow(), NAN_F32)
}

/// 2 to the power `x`.
#[inline(always)]
pub fn ex2<A: Arith>(x: F32<A>) -> F32<A> {
    select(x.is_nan(), x, power(x.widen()).narrow())
}

/// The Taylor series of 2^r, with |r| at most 1/2: ln(2)^n / n!
const POWER: [f64; 10] = [
    1.0,
    std::f64::consts::LN_2,
    2.402_265_069_591_007e-1,
    5.550_410_866_482_158e-2,
    9.618_129_107_628_477e-3,
    1.333_355_814_642_844_3e-3,
    1.540_353_039_338_161e-4,
    1.525_273_380_405_984e-5,
    1.321_548_679_014_431e-6,
    1.017_808_600_923_97e-7,
];

/// 2 to the power `x`, which is not NaN; powers beyond ±200 are cut off there.
#[inline(always)]
fn power<A: Arith>(x: F64<A>) -> F64<A> {
    let x = select(x.lt(200.0), x, 200.0);
    let x = select(x.gt(-200.0), x, -200.0);
    let shifted = x + ROUND;
    let r = x - (shifted - ROUND);
    let fraction = polynomial(r, POWER);
    F64::from_bits(fraction.to_bits() + (shifted.to_bits() << 52))
}

/// Of logarithms: artanh(t) / t, in t².
const LOGARITHM: [f64; 8] = [1.0, 1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0];

/// Logarithm to the base 2.
#[inline(always)]
pub fn lg2<A: Arith>(x: F32<A>) -> F32<A> {
    let wide = x.widen();
    // The exponent for a significand from about 0.7 to 1.4.
    let bits = wide.to_bits() - 0x3fe6_a09e_0000_0000;
    let exponent = ((bits >> 32).cast::<i32>() >> 20).to_float::<f64>();
    let m = F64::from_bits((bits & ((1 << 52) - 1)) + 0x3fe6_a09e_0000_0000);
    // log2(m) = 2 / ln(2) artanh(t)
    let t = (m - 1.0) / (m + 1.0);
    let z = t * t;
    let series = polynomial(z, LOGARITHM);
    let value = exponent + t * (2.0 * std::f64::consts::LOG2_E) * series;
    let value = select(wide.eq(f64::INFINITY), wide, value);
    let value = select(wide.eq(0.0), f64::NEG_INFINITY, value);
    select(wide.ge(0.0), value.narrow(), NAN_F32)
}

/// Of hyperbolic tangents: tanh(y) / y, in y².
const TANGENT: [f64; 6] = [1.0, -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0, -1382.0 / 155_925.0];

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<A: Arith>(x: F32<A>) -> F32<A> {
    let wide = x.widen();
    let magnitude = select(wide.abs().lt(20.0), wide.abs(), 20.0);
    // tanh(y) = (e^2y - 1) / (e^2y + 1); for small y the series keeps what the difference would lose.
    let e = power(magnitude * (2.0 * std::f64::consts::LOG2_E));
    let large = (e - 1.0) / (e + 1.0);
    let z = magnitude * magnitude;
    let small = magnitude * polynomial(z, TANGENT);
    let value = select(magnitude.lt(0.1), small, large).copysign(wide);
    select(x.is_nan(), x, value.narrow())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::native;

    /// Every `f32` of a stride that no power of two divides.
    fn samples() -> impl Iterator<Item = f32> {
        (0..=u32::MAX).step_by(40_503).map(f32::from_bits).filter(|x| x.is_finite())
    }

    #[track_caller]
    fn within(x: f32, result: f32, exact: f64, bound: f64) {
        let error = (f64::from(result) - exact).abs();
        assert!(error <= bound, "{x:e}: {result:e} instead of {exact:e}");
    }

    #[test]
    fn powers_and_logarithms_are_rounded_once() {
        for x in samples() {
            let power = f64::from(x).exp2();
            let nearest = power as f32;
            let spacing = (f64::from(nearest.next_up()) - f64::from(nearest)).abs();
            if nearest.is_finite() {
                within(x, ex2(native(x)).0, power, 0.5001 * spacing);
            } else {
                assert_eq!(ex2(native(x)).0, f32::INFINITY);
            }
            if x > 0.0 {
                let logarithm = f64::from(x).log2();
                within(x, lg2(native(x)).0, logarithm, logarithm.abs() * f64::from(f32::EPSILON) * 0.501 + 1e-12);
            }
        }
    }

    #[test]
    fn the_hyperbolic_tangent_is_rounded_once() {
        for x in samples() {
            let exact = f64::from(x).tanh();
            within(x, tanh(native(x)).0, exact, exact.abs() * f64::from(f32::EPSILON) * 0.51 + 1e-45);
        }
    }

    #[test]
    fn circular_functions_keep_their_documented_bounds() {
        // Section 9.7.3.18: 2^-20.5 within ±2 pi and 2^-14.7 within ±100 pi; the same for cos.
        for (limit, exponent) in [(2.0, -20.5_f64), (100.0, -14.7)] {
            for step in -20_000..=20_000 {
                let x = (f64::from(step) / 20_000.0 * limit * std::f64::consts::PI) as f32;
                within(x, sin(native(x)).0, f64::from(x).sin(), exponent.exp2());
                within(x, cos(native(x)).0, f64::from(x).cos(), exponent.exp2());
            }
        }
        for x in samples() {
            assert!(sin(native(x)).0.abs() <= 1.0 && cos(native(x)).0.abs() <= 1.0);
        }
    }
}
