//! The transcendental functions, computed in `f64` and rounded to `f32` once.
//!
//! The instructions are approximate, with documented error bounds; the polynomials here are accurate to about 2^-40, so
//! that the results are correctly rounded but for rare ties. Everything is free of branches.

use std::hint::select_unpredictable as select;

use crate::base::ir::{Element, Value, Writer};
use crate::isa::float::{Mode, NAN_F32, Rounding};
use crate::isa::form;

/// Adding it rounds a small number to an integer and leaves that in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `c[0] + c[1] x + c[2] x² + …`
#[inline(always)]
fn polynomial<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut sum = c[N - 1];
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
pub fn sin(x: f32) -> f32 {
    circular(x, 0)
}

/// Cosine.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
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
fn circular(x: f32, quarter: u64) -> f32 {
    let turns = f64::from(Mode::rounding(Rounding::Zero).round(f64::from(x) * f64::from(PER_TURN)));
    let turns = turns - turns.round_ties_even();
    // From -2 to 2 quarters.
    let shifted = turns * 4.0 + ROUND;
    let quadrant = shifted.to_bits().wrapping_add(quarter);
    let r = (turns * 4.0 - (shifted - ROUND)) * std::f64::consts::FRAC_PI_2;
    let z = r * r;
    let sine = r + r * z * polynomial(z, SINE);
    let cosine = polynomial(z, COSINE);
    let value = select(quadrant & 1 != 0, cosine, sine);
    let value = f64::from_bits(value.to_bits() ^ (quadrant & 2) << 62);
    select(x.is_finite(), value as f32, f32::NAN)
}

/// Writes the native code for [`sin`], or for [`cos`] if `quarter` is 1.
pub(super) fn form_of_circular(w: &mut Writer, x: &Value, quarter: u64) -> Value {
    let angle = form::wide(w, x);
    let angle = times(w, &angle, f64::from(PER_TURN));
    let turns = form::round(w, Rounding::Zero as u16, &angle);
    let turns = form::wide(w, &turns);
    let whole = w.intrinsic("roundeven", &[&turns]);
    let turns = w.binary("fsub", &turns, &whole);
    let quarters = times(w, &turns, 4.0);
    let round = number(w, ROUND);
    let shifted = w.binary("fadd", &quarters, &round);
    let bits = w.bits_as(&shifted, Element::I64);
    let quadrant = w.add_with(&bits, quarter);
    let nearest = w.binary("fsub", &shifted, &round);
    let r = w.binary("fsub", &quarters, &nearest);
    let r = times(w, &r, std::f64::consts::FRAC_PI_2);
    let z = w.binary("fmul", &r, &r);
    let sine = w.binary("fmul", &r, &z);
    let factor = form_of_polynomial(w, &z, &SINE);
    let sine = w.binary("fmul", &sine, &factor);
    let sine = w.binary("fadd", &r, &sine);
    let cosine = form_of_polynomial(w, &z, &COSINE);
    let odd = w.and_with(&quadrant, 1);
    let odd = w.compare_with("icmp ne", &odd, 0);
    let value = w.select(&odd, &cosine, &sine);
    let bits = w.bits_as(&value, Element::I64);
    let sign = w.and_with(&quadrant, 2);
    let sign = w.binary_with("shl", &sign, 62);
    let bits = w.xor(&bits, &sign);
    let value = w.bits_as(&bits, Element::F64);
    let value = w.convert("fptrunc", &value, Element::F32);
    let size = w.bits_as(x, Element::I32);
    let size = w.and_with(&size, 0x7fff_ffff);
    let finite = w.compare_with("icmp ult", &size, 0x7f80_0000);
    let nan = w.number(Element::F32, NAN_F32.to_bits().into());
    w.select(&finite, &value, &nan)
}

/// Writes the native code for [`polynomial`].
fn form_of_polynomial(w: &mut Writer, x: &Value, c: &[f64]) -> Value {
    let (last, others) = c.split_last().expect("a polynomial has coefficients");
    let last = number(w, *last);
    others.iter().rev().fold(last, |sum, coefficient| {
        let product = w.binary("fmul", &sum, x);
        let coefficient = number(w, *coefficient);
        w.binary("fadd", &product, &coefficient)
    })
}

fn number(w: &mut Writer, x: f64) -> Value {
    w.number(Element::F64, x.to_bits())
}

fn times(w: &mut Writer, x: &Value, factor: f64) -> Value {
    let factor = number(w, factor);
    w.binary("fmul", x, &factor)
}

/// 2 to the power `x`.
#[inline(always)]
pub fn ex2(x: f32) -> f32 {
    select(x.is_nan(), f32::NAN, power(f64::from(x)) as f32)
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

/// Writes the native code for [`ex2`].
pub(super) fn form_of_ex2(w: &mut Writer, x: &Value) -> Value {
    let wide = form::wide(w, x);
    let power = form_of_power(w, &wide);
    let power = w.convert("fptrunc", &power, Element::F32);
    // Any NaN will do: the write makes it canonical.
    let ordered = w.compare("fcmp ord", x, x);
    w.select(&ordered, &power, x)
}

/// Writes the native code for [`power`].
fn form_of_power(w: &mut Writer, x: &Value) -> Value {
    let (most, least, round) = (number(w, 200.0), number(w, -200.0), number(w, ROUND));
    let below = w.compare("fcmp olt", x, &most);
    let cut = w.select(&below, x, &most);
    let above = w.compare("fcmp ogt", &cut, &least);
    let cut = w.select(&above, &cut, &least);
    let shifted = w.binary("fadd", &cut, &round);
    let whole = w.binary("fsub", &shifted, &round);
    let r = w.binary("fsub", &cut, &whole);
    let fraction = form_of_polynomial(w, &r, &POWER);
    let [fraction, shifted] = [&fraction, &shifted].map(|x| w.bits_as(x, Element::I64));
    let exponent = w.binary_with("shl", &shifted, 52);
    let bits = w.add(&fraction, &exponent);
    w.bits_as(&bits, Element::F64)
}

/// 2 to the power `x`, which is not NaN; powers beyond ±200 are cut off there.
#[inline(always)]
fn power(x: f64) -> f64 {
    let x = select(x < 200.0, x, 200.0);
    let x = select(x > -200.0, x, -200.0);
    let shifted = x + ROUND;
    let r = x - (shifted - ROUND);
    let fraction = polynomial(r, POWER);
    f64::from_bits(fraction.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// Of logarithms: artanh(t) / t, in t².
const LOGARITHM: [f64; 8] = [1.0, 1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0];

/// Writes the native code for [`lg2`].
pub(super) fn form_of_lg2(w: &mut Writer, x: &Value) -> Value {
    const LEAST: u64 = 0x3fe6_a09e_0000_0000;
    let wide = form::wide(w, x);
    let bits = w.bits_as(&wide, Element::I64);
    let bits = w.sub_with(&bits, LEAST);
    let high = w.binary_with("lshr", &bits, 32);
    let high = w.bits_as(&high, Element::I32);
    let exponent = w.binary_with("ashr", &high, 20);
    let exponent = w.convert("sitofp", &exponent, Element::F64);
    let m = w.and_with(&bits, (1 << 52) - 1);
    let m = w.add_with(&m, LEAST);
    let m = w.bits_as(&m, Element::F64);
    let one = number(w, 1.0);
    let (above, below) = (w.binary("fsub", &m, &one), w.binary("fadd", &m, &one));
    let t = w.binary("fdiv", &above, &below);
    let z = w.binary("fmul", &t, &t);
    let series = form_of_polynomial(w, &z, &LOGARITHM);
    let logarithm = times(w, &t, 2.0 * std::f64::consts::LOG2_E);
    let logarithm = w.binary("fmul", &logarithm, &series);
    let value = w.binary("fadd", &exponent, &logarithm);
    let (zero, infinity, lowest) = (number(w, 0.0), number(w, f64::INFINITY), number(w, f64::NEG_INFINITY));
    let is_infinite = w.compare("fcmp oeq", &wide, &infinity);
    let value = w.select(&is_infinite, &wide, &value);
    let is_zero = w.compare("fcmp oeq", &wide, &zero);
    let value = w.select(&is_zero, &lowest, &value);
    let value = w.convert("fptrunc", &value, Element::F32);
    let good = w.compare("fcmp oge", &wide, &zero);
    let nan = w.number(Element::F32, NAN_F32.to_bits().into());
    w.select(&good, &value, &nan)
}

/// Logarithm to the base 2.
#[inline(always)]
pub fn lg2(x: f32) -> f32 {
    let wide = f64::from(x);
    // The exponent for a significand from about 0.7 to 1.4.
    let bits = wide.to_bits().wrapping_sub(0x3fe6_a09e_0000_0000);
    let exponent = f64::from((bits >> 32) as i32 >> 20);
    let m = f64::from_bits((bits & ((1 << 52) - 1)).wrapping_add(0x3fe6_a09e_0000_0000));
    // log2(m) = 2 / ln(2) artanh(t)
    let t = (m - 1.0) / (m + 1.0);
    let z = t * t;
    let series = polynomial(z, LOGARITHM);
    let value = exponent + 2.0 * std::f64::consts::LOG2_E * t * series;
    let value = select(wide == f64::INFINITY, wide, value);
    let value = select(wide == 0.0, f64::NEG_INFINITY, value);
    select((wide < 0.0) | wide.is_nan(), f32::NAN, value as f32)
}

/// Of hyperbolic tangents: tanh(y) / y, in y².
const TANGENT: [f64; 6] = [1.0, -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0, -1382.0 / 155_925.0];

/// Writes the native code for [`tanh`].
pub(super) fn form_of_tanh(w: &mut Writer, x: &Value) -> Value {
    let wide = form::wide(w, x);
    let size = w.intrinsic("fabs", &[&wide]);
    let (most, one, limit) = (number(w, 20.0), number(w, 1.0), number(w, 0.1));
    let below = w.compare("fcmp olt", &size, &most);
    let size = w.select(&below, &size, &most);
    let e = times(w, &size, 2.0 * std::f64::consts::LOG2_E);
    let e = form_of_power(w, &e);
    let (less, more) = (w.binary("fsub", &e, &one), w.binary("fadd", &e, &one));
    let large = w.binary("fdiv", &less, &more);
    let z = w.binary("fmul", &size, &size);
    let series = form_of_polynomial(w, &z, &TANGENT);
    let small = w.binary("fmul", &size, &series);
    let is_small = w.compare("fcmp olt", &size, &limit);
    let value = w.select(&is_small, &small, &large);
    let value = w.intrinsic("copysign", &[&value, &wide]);
    let value = w.convert("fptrunc", &value, Element::F32);
    let ordered = w.compare("fcmp ord", x, x);
    w.select(&ordered, &value, x)
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let wide = f64::from(x);
    let magnitude = select(wide.abs() < 20.0, wide.abs(), 20.0);
    // tanh(y) = (e^2y - 1) / (e^2y + 1); for small y the series keeps what the difference would lose.
    let e = power(magnitude * (2.0 * std::f64::consts::LOG2_E));
    let large = (e - 1.0) / (e + 1.0);
    let z = magnitude * magnitude;
    let small = magnitude * polynomial(z, TANGENT);
    let value = select(magnitude < 0.1, small, large).copysign(wide);
    select(x.is_nan(), f32::NAN, value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                within(x, ex2(x), power, 0.5001 * spacing);
            } else {
                assert_eq!(ex2(x), f32::INFINITY);
            }
            if x > 0.0 {
                let logarithm = f64::from(x).log2();
                within(x, lg2(x), logarithm, logarithm.abs() * f64::from(f32::EPSILON) * 0.501 + 1e-12);
            }
        }
    }

    #[test]
    fn the_hyperbolic_tangent_is_rounded_once() {
        for x in samples() {
            let exact = f64::from(x).tanh();
            within(x, tanh(x), exact, exact.abs() * f64::from(f32::EPSILON) * 0.51 + 1e-45);
        }
    }

    #[test]
    fn circular_functions_keep_their_documented_bounds() {
        // Section 9.7.3.18: 2^-20.5 within ±2 pi and 2^-14.7 within ±100 pi; the same for cos.
        for (limit, exponent) in [(2.0, -20.5_f64), (100.0, -14.7)] {
            for step in -20_000..=20_000 {
                let x = (f64::from(step) / 20_000.0 * limit * std::f64::consts::PI) as f32;
                within(x, sin(x), f64::from(x).sin(), exponent.exp2());
                within(x, cos(x), f64::from(x).cos(), exponent.exp2());
            }
        }
        for x in samples() {
            assert!(sin(x).abs() <= 1.0 && cos(x).abs() <= 1.0);
        }
    }
}
