//! Numbers of 8 bits: `e4m3` and `e5m2`, which are named by their bits of exponent and mantissa. They hold numbers, arithmetic is
//! done in others: see [`half`](crate::half).

use bytemuck::{Pod, Zeroable};

/// The bits of a number that rounds `value` to the nearest, ties to even: as `cvt.rn.satfinite` does it, what is too large
/// becomes `largest`, and NaN 7f.
const fn round(value: f32, mantissa: u32, bias: i32, largest: u8) -> u8 {
    if value.is_nan() {
        return 0x7f;
    }
    let bits = value.to_bits();
    let (sign, exponent) = ((bits >> 24) as u8 & 0x80, (bits >> 23 & 0xff) as i32 - 127);
    if exponent > bias + 1 {
        return sign | largest;
    }
    let least = 1 - bias;
    // Below the least exponent, numbers have fewer bits.
    let (field, below) =
        if exponent >= least { ((exponent - least) as u32, 0) } else { (0, (least - exponent) as u32) };
    let drop = 23 - mantissa + below;
    if drop > 25 {
        return sign;
    }
    let all = bits & 0x7f_ffff | 0x80_0000;
    let (kept, rest, half) = (all >> drop, all & ((1 << drop) - 1), 1 << (drop - 1));
    let up = rest > half || rest == half && kept & 1 == 1;
    // The leading bit adds one to the exponent, and so does a carry.
    let code = (field << mantissa) + kept + up as u32;
    sign | if code > largest as u32 { largest } else { code as u8 }
}

/// The number that bits stand for which are no NaN and no infinity.
const fn widen(bits: u8, mantissa: u32, bias: i32) -> f32 {
    let (sign, field) = ((bits as u32 & 0x80) << 24, (bits as u32 & 0x7f) >> mantissa);
    let fraction = bits as u32 & ((1 << mantissa) - 1);
    let size = if field == 0 {
        // 2 to the power of `1 - bias - mantissa`.
        fraction as f32 * f32::from_bits(((128 - bias - mantissa as i32) as u32) << 23)
    } else {
        f32::from_bits(((field as i32 - bias + 127) as u32) << 23 | fraction << (23 - mantissa))
    };
    f32::from_bits(size.to_bits() | sign)
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $mantissa:literal, $bias:literal, $largest:literal, $cvt:literal, |$bits:ident| $special:expr;)*) => {$(
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "the name of the PTX manual, as f16")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The largest number.
            pub const MAX: Self = Self($largest);

            /// The number with these bits.
            #[inline(always)]
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits of the number.
            #[inline(always)]
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, of two the even one; the largest for what is larger, infinities too.
            #[doc = concat!("`", $cvt, "`; PTX 8.1, sm_89. Whole numbers before.")]
            #[inline(always)]
            #[must_use]
            pub fn from_f32(value: f32) -> Self {
                #[cfg(target_arch = "nvptx64")]
                if crate::cfg_arch!("sm_89") {
                    let both: u16;
                    // SAFETY: arithmetic, defined for all bits.
                    unsafe {
                        core::arch::asm!(
                            concat!($cvt, " {both}, {zero}, {value};"),
                            both = out(reg16) both,
                            zero = in(reg32) 0.0_f32,
                            value = in(reg32) value,
                            options(pure, nomem, nostack),
                        );
                    }
                    return Self(both as u8);
                }
                Self(round(value, $mantissa, $bias, $largest))
            }

            /// The same number in 32 bits.
            #[inline(always)]
            #[must_use]
            pub const fn to_f32(self) -> f32 {
                let $bits = self.0;
                match $special {
                    Some(value) => value,
                    None => widen(self.0, $mantissa, $bias),
                }
            }
        }
    )*};
}

numbers! {
    /// A number of 8 bits with 4 of exponent and 3 of mantissa: up to 448, without infinities.
    ///
    /// ```
    /// use cuda_std::half::e4m3;
    ///
    /// assert_eq!(e4m3::from_f32(1.07).to_f32(), 1.125);
    /// assert_eq!(e4m3::from_f32(1e9), e4m3::MAX);
    /// assert_eq!(e4m3::MAX.to_f32(), 448.0);
    /// ```
    e4m3: 3, 7, 0x7e, "cvt.rn.satfinite.e4m3x2.f32", |bits| if bits & 0x7f == 0x7f { Some(f32::NAN) } else { None };
    /// A number of 8 bits with 5 of exponent and 2 of mantissa: up to 57344, the upper half of an [`struct@f16`](crate::half::f16).
    ///
    /// ```
    /// use cuda_std::half::e5m2;
    ///
    /// assert_eq!(e5m2::from_f32(1.07).to_f32(), 1.0);
    /// assert_eq!(e5m2::MAX.to_f32(), 57344.0);
    /// ```
    e5m2: 2, 15, 0x7b, "cvt.rn.satfinite.e5m2x2.f32", |bits| if bits & 0x7f == 0x7c {
        Some(if bits & 0x80 == 0 { f32::INFINITY } else { f32::NEG_INFINITY })
    } else if bits & 0x7f > 0x7c { Some(f32::NAN) } else { None };
}

#[cfg(test)]
mod tests {
    use super::{e4m3, e5m2};

    #[test]
    fn numbers_are_their_own_roundings() {
        for bits in 0..=u8::MAX {
            let (a, b) = (e4m3::from_bits(bits), e5m2::from_bits(bits));
            if !a.to_f32().is_nan() {
                assert_eq!(e4m3::from_f32(a.to_f32()), a);
            }
            if b.to_f32().is_finite() {
                assert_eq!(e5m2::from_f32(b.to_f32()), b);
            }
            // The upper half of an `f16`.
            let wide = ::half::f16::from_bits(u16::from(bits) << 8).to_f32();
            assert!(b.to_f32() == wide || wide.is_nan() && b.to_f32().is_nan());
        }
    }

    #[test]
    fn numbers_between_are_rounded_to_the_even_one() {
        for bits in 0..0x7e {
            let (below, above) = (e4m3::from_bits(bits), e4m3::from_bits(bits + 1));
            let middle = f32::midpoint(below.to_f32(), above.to_f32());
            let even = if bits & 1 == 0 { below } else { above };
            assert_eq!(e4m3::from_f32(middle), even);
            assert_eq!(e4m3::from_f32(middle.next_down()), below);
            assert_eq!(e4m3::from_f32(middle.next_up()), above);
            assert_eq!(e4m3::from_f32(-middle).to_bits(), even.to_bits() | 0x80);
        }
        for bits in 0..0x7b {
            let (below, above) = (e5m2::from_bits(bits), e5m2::from_bits(bits + 1));
            let middle = f32::midpoint(below.to_f32(), above.to_f32());
            assert_eq!(e5m2::from_f32(middle), if bits & 1 == 0 { below } else { above });
        }
    }

    #[test]
    fn what_is_too_large_becomes_the_largest() {
        for value in [465.0, 1e30, f32::INFINITY] {
            assert_eq!(e4m3::from_f32(value), e4m3::MAX);
            assert_eq!(e4m3::from_f32(-value).to_f32(), -448.0);
        }
        assert_eq!(e5m2::from_f32(f32::INFINITY), e5m2::MAX);
        assert!(e4m3::from_f32(f32::NAN).to_f32().is_nan() && e5m2::from_f32(f32::NAN).to_f32().is_nan());
        assert_eq!(e4m3::from_f32(1e-30).to_bits(), 0);
    }
}
