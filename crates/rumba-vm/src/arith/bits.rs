//! Shifts and fields of bits, as the GPU does them.

use crate::arith::scalar::Integer;
use crate::arith::{Arith, U32, V, select};

/// `a << amount`; zero for an amount beyond the width.
#[inline(always)]
pub fn shl<A: Arith, T: Integer>(a: V<A, T>, amount: U32<A>) -> V<A, T> {
    select(amount.lt(T::BITS), a << amount, T::from_word(0))
}

/// `a >> amount`; zero, or the sign of a signed number, for an amount beyond the width.
#[inline(always)]
pub fn shr<A: Arith, T: Integer>(a: V<A, T>, amount: U32<A>) -> V<A, T> {
    if T::IS_SIGNED { a >> amount.min(T::BITS - 1) } else { select(amount.lt(T::BITS), a >> amount, T::from_word(0)) }
}

/// The lowest bits of a word: all for a count of the width and above.
#[inline(always)]
pub fn lowest<A: Arith, T: Integer>(count: U32<A>) -> V<A, T> {
    let one = V::from(T::from_word(1));
    select(count.lt(T::BITS), (one << count) - T::from_word(1), T::from_word(u64::MAX))
}

/// Byte `index` of a word, zero- or sign-extended.
#[inline(always)]
pub fn byte<A: Arith, const SIGNED: bool>(word: U32<A>, index: u32) -> U32<A> {
    extended::<A, SIGNED>(word << (24 - 8 * index), 24)
}

/// A word shifted to the right, filled with zeros or with its sign.
#[inline(always)]
pub fn extended<A: Arith, const SIGNED: bool>(word: U32<A>, shift: u32) -> U32<A> {
    if SIGNED { (word.reinterpret::<i32>() >> shift).reinterpret() } else { word >> shift }
}
