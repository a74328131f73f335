//! The conversions of `cvt` to and from formats of 8, 6 and 4 bits, two to a register.

use crate::arith::float::Mode;
use crate::arith::{half, native};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16, Pair};
use crate::exec::shape;
use crate::isa::cvt::{SATFINITE, flags};
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::machine::op::Handlers;

/// A small format: sign, exponent, fraction.
#[derive(Clone, Copy)]
pub(super) struct Small {
    pub(super) exponent_bits: u32,
    pub(super) fraction_bits: u32,
    /// The code of the largest finite number.
    pub(super) largest: u8,
    /// The code of what NaN becomes.
    pub(super) nan: u8,
    /// The code of infinity, in formats that have it.
    infinity: Option<u8>,
}

pub(super) const E4M3: Small = Small { exponent_bits: 4, fraction_bits: 3, largest: 0x7e, nan: 0x7f, infinity: None };
pub(super) const E5M2: Small =
    Small { exponent_bits: 5, fraction_bits: 2, largest: 0x7b, nan: 0x7f, infinity: Some(0x7c) };
pub(super) const E2M1: Small = Small { exponent_bits: 2, fraction_bits: 1, largest: 0x07, nan: 0x07, infinity: None };
pub(super) const E2M3: Small = Small { exponent_bits: 2, fraction_bits: 3, largest: 0x1f, nan: 0x1f, infinity: None };
pub(super) const E3M2: Small = Small { exponent_bits: 3, fraction_bits: 2, largest: 0x1f, nan: 0x1f, infinity: None };

impl Small {
    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    const fn sign(self) -> u8 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// The bits that a code has.
    pub(super) const fn mask(self) -> u8 {
        self.sign() | (self.sign() - 1)
    }

    /// The nearest code, ties to even; numbers beyond the largest become that.
    fn encode(self, flags: u16, x: f32) -> u8 {
        if x.is_nan() {
            return self.nan;
        }
        let negative = x.is_sign_negative();
        if negative && flags & Mode::RELU != 0 {
            return 0;
        }
        let magnitude = x.abs();
        // The place of the last bit, and the magnitude in units of it; the product is exact.
        let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(1 - self.bias());
        let units = f64::from(magnitude) * power(self.fraction_bits as i32 - exponent);
        let code = if units >= 65536.0 {
            f64::INFINITY
        } else {
            // Codes of one exponent follow those of the one below.
            units.round_ties_even() + f64::from((exponent + self.bias() - 1) << self.fraction_bits)
        };
        let beyond = code > f64::from(self.largest);
        let code = match self.infinity {
            Some(infinity) if beyond && flags & SATFINITE == 0 => infinity,
            None if beyond && flags & SATFINITE == 0 => self.nan,
            _ if beyond => self.largest,
            _ => code as u8,
        };
        code | if negative { self.sign() } else { 0 }
    }

    /// The number of a code, which every half can hold.
    pub(super) fn decode(self, code: u8) -> f32 {
        let magnitude = code & (self.sign() - 1);
        let fraction = f64::from(magnitude & ((1 << self.fraction_bits) - 1));
        let field = i32::from(magnitude >> self.fraction_bits);
        let hidden = if field == 0 { 0.0 } else { f64::from(1 << self.fraction_bits) };
        let exponent = field.max(1) - self.bias() - self.fraction_bits as i32;
        let x = if self.infinity == Some(magnitude) {
            f32::INFINITY
        } else if self.sign() == 0x80 && magnitude > self.largest {
            return f32::NAN;
        } else {
            ((fraction + hidden) * power(exponent)) as f32
        };
        if code & self.sign() != 0 { -x } else { x }
    }
}

/// `2^exponent`
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The type of a pair of numbers: two formats of four bits fill a byte.
fn packed(m: &Matched<'_>) -> ScalarType {
    if m.get("small") == Some(".e2m1x2") { ScalarType::B8 } else { ScalarType::B16 }
}

pub(super) fn from_f32(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let encode = of_small(m, Codec::FromF32)?;
    emit::lanes(l, encode, flags(m), packed(m), &[ScalarType::F32; 2])
}

pub(super) fn from_halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let encode = of_small(m, Codec::FromHalves)?;
    emit::lanes(l, encode, flags(m), packed(m), &[ScalarType::F16x2])
}

pub(super) fn to_halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let decode = of_small(m, Codec::ToHalves)?;
    emit::lanes(l, decode, flags(m), ScalarType::F16x2, &[packed(m)])
}

pub(super) fn to_exponents(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let encode =
        shape::called(|flags: u16, a: f32, b: f32| u16::from(exponent(flags, a)) << 8 | u16::from(exponent(flags, b)));
    emit::lanes(l, encode, flags(m), ScalarType::B16, &[ScalarType::F32; 2])
}

pub(super) fn to_exponents_of_halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let encode = shape::called(|flags: u16, a: Pair<Bf16>| {
        u16::from(exponent(flags, a.1.to_f32())) << 8 | u16::from(exponent(flags, a.0.to_f32()))
    });
    emit::lanes(l, encode, flags(m), ScalarType::B16, &[ScalarType::Bf16x2])
}

pub(super) fn from_exponents(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let decode = shape::called(|_: u16, a: u16| Pair(of_exponent(a as u8), of_exponent((a >> 8) as u8)));
    emit::lanes(l, decode, 0, ScalarType::Bf16x2, &[ScalarType::B16])
}

/// The direction and the number of conversions of a small format.
#[derive(Clone, Copy)]
enum Codec {
    FromF32,
    FromHalves,
    ToHalves,
}

fn of_small(m: &Matched<'_>, codec: Codec) -> Result<Handlers, LowerError> {
    macro_rules! handlers {
        ($format:ident, $bits:literal) => {
            match codec {
                Codec::FromF32 => shape::called(|flags: u16, a: f32, b: f32| {
                    u16::from($format.encode(flags, a)) << $bits | u16::from($format.encode(flags, b))
                }),
                Codec::FromHalves => shape::called(|flags: u16, a: Pair<F16>| {
                    let (low, high) = ($format.encode(flags, a.0.to_f32()), $format.encode(flags, a.1.to_f32()));
                    u16::from(high) << $bits | u16::from(low)
                }),
                Codec::ToHalves => shape::called(|flags: u16, a: u16| {
                    let half = |code: u16| half::output::<_, F16>(Mode(flags), native($format.decode(code as u8))).0;
                    Pair(half(a & ((1 << $bits) - 1)), half(a >> $bits & ((1 << $bits) - 1)))
                }),
            }
        };
    }
    Ok(match m.get("small") {
        Some(".e4m3x2") => handlers!(E4M3, 8),
        Some(".e5m2x2") => handlers!(E5M2, 8),
        Some(".e2m1x2") => handlers!(E2M1, 4),
        Some(".e2m3x2") => handlers!(E2M3, 8),
        Some(".e3m2x2") => handlers!(E3M2, 8),
        other => return Err(emit::no_such(other.unwrap_or_default())),
    })
}

/// The biased exponent of a magnitude, rounded towards zero or up; all ones for NaN.
fn exponent(flags: u16, x: f32) -> u8 {
    if x.is_nan() {
        return 0xff;
    }
    let bits = x.to_bits() & 0x7fff_ffff;
    let (field, fraction) = (bits >> 23, bits & 0x7f_ffff);
    // 2^-127, the smallest code, is subnormal in f32.
    let up = Mode(flags).get_rounding() == crate::arith::Rounding::Up;
    let above = if field == 0 { fraction > 0x40_0000 } else { fraction != 0 };
    (field + u32::from(up && above)).min(if flags & SATFINITE != 0 { 0xfe } else { 0xff }) as u8
}

/// The power of two with a biased exponent, which is NaN if it is all ones.
fn of_exponent(code: u8) -> Bf16 {
    match code {
        0 => Bf16(0x0040),
        0xff => Bf16(0x7fff),
        _ => Bf16(u16::from(code) << 7),
    }
}
