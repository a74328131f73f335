//! The element types of the matrix instructions, and the numbers that their bits stand for.
//!
//! [`crate::isa::matrix::fragment`] has the places of elements in the registers.

use std::sync::LazyLock;

use crate::exec::lane::{Bf16, F16};
use crate::isa::cvt_small;

/// The type of a matrix's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ElementType {
    F64,
    F32,
    Tf32,
    Bf16,
    F16,
    E5m2,
    E4m3,
    E3m2,
    E2m3,
    E2m1,
    S32,
    S8,
    U8,
    S4,
    U4,
    B1,
}

const NAMES: [(ElementType, &str); 16] = [
    (ElementType::F64, "f64"),
    (ElementType::F32, "f32"),
    (ElementType::Tf32, "tf32"),
    (ElementType::Bf16, "bf16"),
    (ElementType::F16, "f16"),
    (ElementType::E5m2, "e5m2"),
    (ElementType::E4m3, "e4m3"),
    (ElementType::E3m2, "e3m2"),
    (ElementType::E2m3, "e2m3"),
    (ElementType::E2m1, "e2m1"),
    (ElementType::S32, "s32"),
    (ElementType::S8, "s8"),
    (ElementType::U8, "u8"),
    (ElementType::S4, "s4"),
    (ElementType::U4, "u4"),
    (ElementType::B1, "b1"),
];

impl ElementType {
    /// The type that a modifier names, with or without its dot.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix('.').unwrap_or(name);
        NAMES.iter().find(|(_, known)| *known == name).map(|(element, _)| *element)
    }

    /// Bits that an element takes in a register or in memory; small floating point numbers take a byte each, unless the
    /// instruction packs them.
    pub(crate) fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Tf32 | Self::S32 => 32,
            Self::Bf16 | Self::F16 => 16,
            Self::E5m2 | Self::E4m3 | Self::E3m2 | Self::E2m3 | Self::E2m1 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Whether it is a floating point number that tensor cores multiply as one of eight bits or fewer.
    pub(crate) fn is_small_float(self) -> bool {
        matches!(self, Self::E5m2 | Self::E4m3 | Self::E3m2 | Self::E2m3 | Self::E2m1)
    }

    /// The exponent of the smallest normal number, which subnormal ones have too. Numbers of eight bits and fewer are
    /// multiplied as halves.
    pub(crate) fn least_exponent(self) -> i32 {
        match self {
            Self::F64 => -1022,
            Self::F32 | Self::Tf32 | Self::Bf16 => -126,
            _ => -14,
        }
    }

    /// The numbers that the bits stand for. Not for `f64`, `s32` and `b1`.
    #[inline(always)]
    pub(crate) fn numbers(self, bits: &[u32], numbers: &mut [f32]) {
        match self {
            Self::F16 => map(bits, numbers, |bits| F16(bits as u16).to_f32()),
            Self::Bf16 => map(bits, numbers, |bits| Bf16(bits as u16).to_f32()),
            // The tensor cores ignore what a tf32 has no room for.
            Self::Tf32 => map(bits, numbers, |bits| f32::from_bits(bits & 0xffff_e000)),
            Self::F32 => map(bits, numbers, f32::from_bits),
            Self::S8 => map(bits, numbers, |bits| f32::from(bits as i8)),
            Self::U8 => map(bits, numbers, |bits| f32::from(bits as u8)),
            Self::S4 => map(bits, numbers, |bits| ((bits << 28) as i32 >> 28) as f32),
            Self::U4 => map(bits, numbers, |bits| (bits & 15) as f32),
            Self::E5m2 => map(bits, numbers, |bits| F16((bits << 8) as u16).to_f32()),
            Self::E4m3 => looked_up(0, bits, numbers),
            Self::E3m2 => looked_up(1, bits, numbers),
            Self::E2m3 => looked_up(2, bits, numbers),
            Self::E2m1 => looked_up(3, bits, numbers),
            Self::F64 | Self::S32 | Self::B1 => {}
        }
    }
}

#[inline(always)]
fn map(bits: &[u32], numbers: &mut [f32], f: impl Fn(u32) -> f32) {
    for (number, bits) in numbers.iter_mut().zip(bits) {
        *number = f(*bits);
    }
}

/// The numbers of the formats of eight bits and fewer that have no simple rule.
#[inline(always)]
fn looked_up(format: usize, bits: &[u32], numbers: &mut [f32]) {
    static NUMBERS: LazyLock<[[f32; 256]; 4]> = LazyLock::new(|| {
        let formats = [cvt_small::E4M3, cvt_small::E3M2, cvt_small::E2M3, cvt_small::E2M1];
        formats.map(|format| std::array::from_fn(|code| format.decode(code as u8 & format.mask())))
    });
    let table = &NUMBERS[format];
    map(bits, numbers, |bits| table[bits as usize & 0xff]);
}

/// The number of a scale factor: an exponent of eight bits.
pub(crate) fn ue8m0(code: u8) -> f64 {
    if code == 0xff { f64::NAN } else { f64::from_bits((u64::from(code) + 1023 - 127) << 52) }
}

/// The number of a scale factor: `e4m3` without a sign.
pub(crate) fn ue4m3(code: u8) -> f64 {
    let mut number = [0.0];
    ElementType::E4m3.numbers(&[u32::from(code & 0x7f)], &mut number);
    f64::from(number[0])
}

#[cfg(test)]
mod tests {
    use super::{ElementType, ue4m3, ue8m0};

    #[track_caller]
    fn check(element: ElementType, cases: &[(u32, f32)]) {
        for (bits, expected) in cases {
            let mut number = [0.0];
            element.numbers(&[*bits], &mut number);
            assert_eq!(
                number[0].to_bits(),
                expected.to_bits(),
                "{element:?} {bits:#x} is {} instead of {expected}",
                number[0]
            );
        }
    }

    #[test]
    fn numbers_at_the_edges() {
        check(ElementType::F16, &[(0x0001, 2f32.powi(-24)), (0x7bff, 65504.0), (0xfc00, f32::NEG_INFINITY)]);
        check(ElementType::Bf16, &[(0x3f80, 1.0), (0x0001, f32::from_bits(0x1_0000))]);
        check(ElementType::Tf32, &[(0x3f80_1fff, 1.0), (0x3f80_2000, 1.0 + 2f32.powi(-10))]);
        check(ElementType::S8, &[(0x80, -128.0), (0x7f, 127.0), (0xffff_ff01, 1.0)]);
        check(ElementType::U8, &[(0xff, 255.0)]);
        check(ElementType::S4, &[(0x8, -8.0), (0x7, 7.0), (0xf1, 1.0)]);
        check(ElementType::U4, &[(0xf, 15.0), (0x10, 0.0)]);
        check(ElementType::E5m2, &[(0x7b, 57344.0), (0x01, 2f32.powi(-16)), (0xfc, f32::NEG_INFINITY)]);
        check(ElementType::E4m3, &[(0x7e, 448.0), (0x01, 2f32.powi(-9)), (0x80, -0.0)]);
        check(ElementType::E3m2, &[(0x1f, 28.0), (0x3f, -28.0), (0x01, 0.0625)]);
        check(ElementType::E2m3, &[(0x1f, 7.5), (0x01, 0.125), (0xc1, 0.125)]);
        check(ElementType::E2m1, &[(0x07, 6.0), (0x01, 0.5), (0x0f, -6.0)]);
    }

    #[test]
    fn scales() {
        assert_eq!((ue8m0(127), ue8m0(0), ue8m0(254)), (1.0, 2f64.powi(-127), 2f64.powi(127)));
        assert!(ue8m0(255).is_nan() && ue4m3(0x7f).is_nan());
        assert_eq!((ue4m3(0x38), ue4m3(0xb8)), (1.0, 1.0));
    }
}
