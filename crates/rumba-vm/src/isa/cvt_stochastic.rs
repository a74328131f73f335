//! The conversions of `cvt` with stochastic rounding: the probability of rounding up is the size of the discarded part.
//!
//! Random bits are added below the last kept bit, at the top of the discarded bits, which are then discarded.
//! The manual says which bits of the operand belong to which number. It leaves open what two numbers that share 16 bits
//! make of them; here both use them all.

use crate::arith::float::Mode;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::cvt::{SATFINITE, flags};
use crate::isa::cvt_small::{E2M1, E2M3, E3M2, E4M3, E5M2, Small};
use crate::isa::{emit, memory};
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};

/// The layout of a floating point format.
#[derive(Clone, Copy)]
struct Layout {
    exponent_bits: u32,
    fraction_bits: u32,
    /// The code of the largest finite number.
    largest: u32,
    /// The code of what lies beyond.
    beyond: u32,
    nan: u32,
    /// How many random bits a number gets.
    random_bits: u32,
}

const F16: Layout =
    Layout { exponent_bits: 5, fraction_bits: 10, largest: 0x7bff, beyond: 0x7c00, nan: 0x7fff, random_bits: 13 };

const BF16: Layout =
    Layout { exponent_bits: 8, fraction_bits: 7, largest: 0x7f7f, beyond: 0x7f80, nan: 0x7fff, random_bits: 16 };

impl Layout {
    const fn small(format: Small) -> Self {
        Self {
            exponent_bits: format.exponent_bits,
            fraction_bits: format.fraction_bits,
            largest: format.largest as u32,
            // These formats are converted to with `.satfinite` only.
            beyond: format.largest as u32,
            nan: format.nan as u32,
            random_bits: 16,
        }
    }

    /// The code of a number, rounded with the random bits.
    fn encode(self, flags: u16, x: f32, random: u32) -> u32 {
        if x.is_nan() {
            return self.nan;
        }
        let sign = u32::from(x.is_sign_negative()) << (self.exponent_bits + self.fraction_bits);
        if sign != 0 && flags & Mode::RELU != 0 {
            return 0;
        }
        let bits = x.to_bits() & 0x7fff_ffff;
        let (field, fraction) = ((bits >> 23) as i32, bits & 0x7f_ffff);
        let significand = u64::from(if field == 0 { fraction } else { fraction | 0x80_0000 });
        let bias = (1 << (self.exponent_bits - 1)) - 1;
        let exponent = field.max(1) - 127;
        // Below the normal numbers of the format the last bit stays where it is.
        let kept = exponent.max(1 - bias);
        let cut = (kept - exponent + 23 - self.fraction_bits as i32) as u32;
        let random = u64::from(random & ((1 << self.random_bits) - 1));
        let random = if cut >= self.random_bits {
            random.checked_shl(cut - self.random_bits).unwrap_or(u64::MAX >> 1)
        } else {
            random >> (self.random_bits - cut)
        };
        let units = if cut >= 48 { 0 } else { ((significand + random) >> cut) as u32 };
        // Codes of one exponent follow those of the one below.
        let code = units + (((kept + bias - 1) as u32) << self.fraction_bits);
        let code = match code > self.largest {
            false => code,
            true if flags & SATFINITE != 0 => self.largest,
            true => self.beyond,
        };
        sign | code
    }
}

/// Lowers the forms with two halves: the lower 16 random bits are for the lower half.
pub(super) fn halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("h2type")?;
    let handlers = match ty {
        ScalarType::F16x2 => shape::called(|flags: u16, a: f32, b: f32, random: u32| {
            F16.encode(flags, a, random >> 16) << 16 | F16.encode(flags, b, random)
        }),
        _ => shape::called(|flags: u16, a: f32, b: f32, random: u32| {
            BF16.encode(flags, a, random >> 16) << 16 | BF16.encode(flags, b, random)
        }),
    };
    let sources = [ScalarType::F32, ScalarType::F32, ScalarType::B32];
    emit::lanes(l, handlers, flags(m), ty, &sources)
}

/// Set in `extra` for the pair of numbers that is stored first.
const FIRST: u16 = 64;

/// Lowers the forms with four numbers of a small format.
pub(super) fn fours(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    // Two numbers, each in `bits` bits, and which random bits they share.
    macro_rules! pair {
        ($format:ident, $bits:literal, $random:expr) => {
            shape::called(|flags: u16, a: f32, b: f32, random: u32| {
                const FORMAT: Layout = Layout::small($format);
                let random = $random(random, flags & FIRST != 0);
                FORMAT.encode(flags, a, random) << $bits | FORMAT.encode(flags, b, random)
            })
        };
    }
    let (handlers, dst, bits) = match m.get("small4") {
        Some(".e4m3x4") => (pair!(E4M3, 8, half), ScalarType::B32, 16),
        Some(".e5m2x4") => (pair!(E5M2, 8, half), ScalarType::B32, 16),
        Some(".e2m3x4") => (pair!(E2M3, 8, half), ScalarType::B32, 16),
        Some(".e3m2x4") => (pair!(E3M2, 8, half), ScalarType::B32, 16),
        Some(".e2m1x4") => (pair!(E2M1, 4, bytes), ScalarType::B16, 8),
        other => return Err(emit::no_such(other.unwrap_or_default())),
    };
    let random = l.source(2, ScalarType::B32)?;
    let mut numbers = Vec::with_capacity(4);
    for element in memory::elements(l, 1, 4)? {
        numbers.push(l.source_operand(element, ScalarType::F32, false)?);
    }
    let (first, second) = (l.scratch(ScalarType::B32), l.scratch(ScalarType::B32));
    for (place, pair, mark) in [(first, &numbers[..2], FIRST), (second, &numbers[2..], 0)] {
        emit::emit(l, handlers, flags(m) | mark, place, [pair[0], pair[1], random, VReg::None]);
    }
    let dst = l.destination(0, dst)?;
    let join = shape::lanes(function!(bits; |high: u32, low: u32| -> u32 { high << u32::from(bits) | low }));
    l.emit(VirtualOp { extra: bits, ..VirtualOp::binary(join, dst, first, second) });
    Ok(())
}

/// The random bits of a pair of bytes: half of them.
fn half(random: u32, first: bool) -> u32 {
    if first { random >> 16 } else { random }
}

/// The random bits of a pair of four-bit numbers: a byte of each half.
fn bytes(random: u32, first: bool) -> u32 {
    let random = if first { random >> 8 } else { random };
    (random >> 16 & 0xff) << 8 | random & 0xff
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const ONE: u64 = 0x3f80_0000;

    #[test]
    fn halves_round_by_their_random_bits() {
        check(
            "cvt.rs.f16x2.f32 %r0, %r1, %r2, %r3",
            &[
                // Exact numbers stay unchanged for all random bits.
                (&[ONE, 0xc000_0000, 0xffff_ffff], 0x3c00_c000),
                // One and a half units: up with the largest random bits, down without; the top three bits do not count.
                (&[0x3f80_3000, 0x3f80_3000, 0x1fff_e000], 0x3c02_3c01),
                (&[0x3f80_3000, 0x3f80_3000, 0x1000_0fff], 0x3c02_3c01),
                // Half of the smallest subnormal number.
                (&[0x3300_0000, 0x3300_0000, 0x1000_0fff], 0x0001_0000),
                (&[0x7f80_0000, 0x7fc0_0000, 0], 0x7c00_7fff),
                (&[0x7f7f_ffff, 0x8000_0001, 0], 0x7c00_8000),
            ],
        );
        check(
            "cvt.rs.relu.satfinite.bf16x2.f32 %r0, %r1, %r2, %r3",
            &[
                (&[0x3f80_8000, 0x3f80_8000, 0x8000_7fff], 0x3f81_3f80),
                (&[0x7f80_0000, 0xbf80_0000, 0], 0x7f7f_0000),
                (&[0x7f7f_ffff, 0x0000_8000, 0xffff_8000], 0x7f7f_0001),
            ],
        );
    }

    #[test]
    fn four_numbers_share_random_bits_by_pairs() {
        check(
            "cvt.rs.satfinite.e4m3x4.f32 %r0, {%r1, %r2, %r3, %r4}, %r5",
            &[
                (&[ONE, ONE, ONE, ONE, 0xffff_ffff], 0x3838_3838),
                // A sixteenth above one is half a unit.
                (&[0x3f88_0000, 0xbf88_0000, 0x3f88_0000, 0, 0x8000_7fff], 0x39b9_3800),
                (&[0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x4400_0000, 0], 0x7efe_7f7e),
            ],
        );
        check(
            "cvt.rs.relu.satfinite.e2m1x4.f32 %h0, {%r1, %r2, %r3, %r4}, %r5",
            &[(&[0x3fa0_0000, 0xc0c0_0000, 0x3fa0_0000, 0x40c0_0000, 0x807f_00ff], 0x3027)],
        );
    }
}
