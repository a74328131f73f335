//! Operations on bits and bytes that GPUs have instructions for and the core library lacks.
//!
//! Methods of the core library compile to instructions: `count_ones` to `popc`, `leading_zeros` to `clz`,
//! `reverse_bits` to `brev`, `rotate_left` to `shf.l.wrap`. All functions of this module run on the host too.
//!
//! ```
//! use cuda_std::bits::{bit_field, byte_perm, funnel_shift_left, lop3, nth_set_bit, with_bit_field};
//! use cuda_std::prelude::*;
//!
//! #[kernel]
//! pub fn bit_operations(x: &[u32], mut y: Disjoint<u32, Striped<6>>) {
//!     let (a, b) = (x[0], x[1]);
//!     y.each(|i, y| {
//!         *y = match i {
//!             0 => byte_perm(a, b, 0x7531),
//!             1 => funnel_shift_left(a, b, a >> 28),
//!             2 => bit_field(a, a >> 28, b & 15),
//!             3 => with_bit_field(a, b, 4, 12),
//!             4 => lop3::<0x96>(a, b, !a),
//!             _ => nth_set_bit(a, b % 8).unwrap_or(99),
//!         }
//!     });
//! }
//!
//! # fn main() {
//! let (a, b) = (0x8765_4321_u32, 0xfedc_ba98_u32);
//! let mut y = [0; 6];
//! examples::launch((1, 1), bit_operations(&[a, b], &mut y));
//! let host = [byte_perm(a, b, 0x7531), funnel_shift_left(a, b, 8), bit_field(a, 8, 8), with_bit_field(a, b, 4, 12), !b, 0];
//! assert_eq!(y, host);
//! assert_eq!(y, [0xfeba_8743, 0xdcba_9887, 0x43, 0x8765_a981, !b, 0]);
//! # examples::becomes("bit_operations", &["prmt.b32", "shf.l.wrap.b32", "fns.b32"]);
//! # }
//! ```

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics;

/// Four bytes of the eight of `low` (0 to 3) and `high` (4 to 7): byte i of the result is the one that the i-th four bits of
/// `selector` number; with the highest of the four set, its sign, eight times. CUDA's `__byte_perm`, but for the sign.
///
/// `prmt.b32`; PTX 2.0, sm_20.
#[inline(always)]
#[must_use]
pub fn byte_perm(low: u32, high: u32, selector: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        intrinsics::prmt(low, high, selector)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
        u32::from_le_bytes(core::array::from_fn(|i| {
            let choice = selector >> (4 * i) & 15;
            let byte = bytes[choice as usize & 7];
            if choice & 8 == 0 {
                byte
            } else if byte & 0x80 == 0 {
                0
            } else {
                0xff
            }
        }))
    }
}

/// The upper half of `high` and `low` shifted left together by `shift` modulo 32: CUDA's `__funnelshift_l(low, high, shift)`.
///
/// `shf.l.wrap.b32`; PTX 3.1, sm_32.
#[inline(always)]
#[must_use]
pub fn funnel_shift_left(low: u32, high: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        intrinsics::funnel_left(high, low, shift)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ((u64::from(high) << 32 | u64::from(low)) << (shift % 32) >> 32) as u32
    }
}

/// The lower half of `high` and `low` shifted right together by `shift` modulo 32: CUDA's `__funnelshift_r(low, high, shift)`.
///
/// `shf.r.wrap.b32`; PTX 3.1, sm_32.
#[inline(always)]
#[must_use]
pub fn funnel_shift_right(low: u32, high: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        intrinsics::funnel_right(high, low, shift)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ((u64::from(high) << 32 | u64::from(low)) >> (shift % 32)) as u32
    }
}

/// The low `length` bits, all of them from 32 on.
#[inline(always)]
fn low_bits(length: u32) -> u32 {
    1_u32.checked_shl(length).map_or(u32::MAX, |bit| bit - 1)
}

/// The `length` bits of `value` from bit `start`, zeros beyond its end: what `bfe.u32` gives for numbers up to 255.
///
/// Shifts and a mask, which the assembler fuses where it can; PTX 1.0.
#[inline(always)]
#[must_use]
pub fn bit_field(value: u32, start: u32, length: u32) -> u32 {
    value.checked_shr(start).unwrap_or(0) & low_bits(length)
}

/// `value` with its `length` bits from bit `start` replaced by the lowest of `field`: what `bfi.b32` gives for numbers up to
/// 255.
///
/// Shifts and masks, which the assembler fuses where it can; PTX 1.0.
#[inline(always)]
#[must_use]
pub fn with_bit_field(value: u32, field: u32, start: u32, length: u32) -> u32 {
    let mask = low_bits(length).checked_shl(start).unwrap_or(0);
    value & !mask | field.checked_shl(start).unwrap_or(0) & mask
}

/// Any function of three bits, for all 32: bit `4 a + 2 b + c` of `TABLE` is its value for bits a, b and c. The table of an
/// expression is the expression of `0xf0`, `0xcc` and `0xaa`.
///
/// `and`, `or`, `xor`, `not`, which the assembler makes one `LOP3`; PTX 1.0.
#[inline(always)]
#[must_use]
pub fn lop3<const TABLE: u8>(a: u32, b: u32, c: u32) -> u32 {
    let mut result = 0;
    let mut term = 0;
    while term < 8 {
        if TABLE >> term & 1 == 1 {
            let bit = |value: u32, set: bool| if set { value } else { !value };
            result |= bit(a, term & 4 != 0) & bit(b, term & 2 != 0) & bit(c, term & 1 != 0);
        }
        term += 1;
    }
    result
}

/// Where the `n`-th set bit of `mask` is, the lowest being the 0th.
///
/// `fns.b32`; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn nth_set_bit(mask: u32, n: u32) -> Option<u32> {
    if n >= mask.count_ones() {
        return None;
    }
    #[cfg(target_arch = "nvptx64")]
    {
        Some(intrinsics::fns(mask, 0, n as i32 + 1))
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        (0..32).filter(|&bit| mask >> bit & 1 == 1).nth(n as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::{bit_field, byte_perm, funnel_shift_right, lop3, nth_set_bit, with_bit_field};

    #[test]
    fn edges() {
        assert_eq!(bit_field(u32::MAX, 31, 40), 1);
        assert_eq!(bit_field(u32::MAX, 32, 1), 0);
        assert_eq!(with_bit_field(0, u32::MAX, 0, 32), u32::MAX);
        assert_eq!(with_bit_field(7, 0, 40, 3), 7);
        assert_eq!(byte_perm(0x80, 0, 0x9998), 0x0000_00ff);
        assert_eq!(funnel_shift_right(1, 1, 32), 1);
        assert_eq!((nth_set_bit(0, 0), nth_set_bit(1 << 31, 0)), (None, Some(31)));
        let (a, b, c) = (0x1234_5678, 0x9abc_def0, 0x0f0f_0f0f);
        assert_eq!(lop3::<{ (0xf0 & 0xcc) | 0xaa }>(a, b, c), a & b | c);
    }
}
