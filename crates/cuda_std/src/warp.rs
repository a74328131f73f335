//! The 32 threads of a warp: exchange of values, votes, and reductions without shared memory.
//!
//! The functions without a mask are for the whole warp: every lane that has not returned from the
//! kernel must come to the call. If one does not, the others wait for it or get unspecified values;
//! memory is safe either way, and the software device reports it. The `_sync` functions take the
//! mask of the lanes that take part, the caller among them.

use core::ops::Add;

use crate::device;
pub use crate::sync::sync_warp;
pub use crate::thread::lane_id;

/// Lanes of a warp.
pub const WARP_SIZE: u32 = 32;

/// The mask of all lanes.
pub const FULL_MASK: u32 = u32::MAX;

/// A value that lanes can exchange: 32 or 64 bits of number.
pub trait Shuffle: Copy {
    /// Exchanges the value in pieces of 32 bits.
    #[doc(hidden)]
    fn in_words(self, exchange: impl Fn(u32) -> u32) -> Self;
}

/// 32 bits go in one piece.
macro_rules! one_word {
    ($($ty:ty: $to:expr, $from:expr;)*) => {$(
        impl Shuffle for $ty {
            #[inline(always)]
            fn in_words(self, exchange: impl Fn(u32) -> u32) -> Self {
                $from(exchange($to(self)))
            }
        }
    )*};
}

/// 64 bits go in two.
macro_rules! two_words {
    ($($ty:ty: $to:expr, $from:expr;)*) => {$(
        impl Shuffle for $ty {
            #[inline(always)]
            #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
            fn in_words(self, exchange: impl Fn(u32) -> u32) -> Self {
                let bits: u64 = $to(self);
                let (low, high) = (exchange(bits as u32), exchange((bits >> 32) as u32));
                $from(u64::from(high) << 32 | u64::from(low))
            }
        }
    )*};
}

one_word! {
    u32: |value: u32| value, |bits: u32| bits;
    i32: i32::cast_unsigned, u32::cast_signed;
    f32: f32::to_bits, f32::from_bits;
}

two_words! {
    u64: |value: u64| value, |bits: u64| bits;
    i64: i64::cast_unsigned, u64::cast_signed;
    f64: f64::to_bits, f64::from_bits;
    usize: |value: usize| value as u64, |bits: u64| bits as usize;
}

/// The third operand of `shfl`: where segments of `width` lanes end, and the last lane to read.
/// PTX ISA, "shfl.sync".
#[inline(always)]
const fn segments(width: u32, last: u32) -> u32 {
    (WARP_SIZE - width) << 8 | last
}

/// The value of lane `lane`, of those of this lane's segment of `width` (a power of two) lanes:
/// CUDA's `__shfl_sync`.
///
/// `shfl.sync.idx.b32`, twice for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn shfl_sync<T: Shuffle>(mask: u32, value: T, lane: u32, width: u32) -> T {
    value.in_words(|word| device::shfl_idx(mask, word, lane, segments(width, 0x1f)))
}

/// The value of the lane `delta` below, or the own value where there is none: CUDA's
/// `__shfl_up_sync`.
///
/// `shfl.sync.up.b32`, twice for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn shfl_up_sync<T: Shuffle>(mask: u32, value: T, delta: u32, width: u32) -> T {
    value.in_words(|word| device::shfl_up(mask, word, delta, segments(width, 0)))
}

/// The value of the lane `delta` above, or the own value where there is none: CUDA's
/// `__shfl_down_sync`.
///
/// `shfl.sync.down.b32`, twice for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn shfl_down_sync<T: Shuffle>(mask: u32, value: T, delta: u32, width: u32) -> T {
    value.in_words(|word| device::shfl_down(mask, word, delta, segments(width, 0x1f)))
}

/// The value of the lane whose number differs by the bits `lanes`: CUDA's `__shfl_xor_sync`.
///
/// `shfl.sync.bfly.b32`, twice for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn shfl_xor_sync<T: Shuffle>(mask: u32, value: T, lanes: u32, width: u32) -> T {
    value.in_words(|word| device::shfl_bfly(mask, word, lanes, segments(width, 0x1f)))
}

/// [`shfl_sync`] for the whole warp: the value of lane `lane`.
#[inline(always)]
#[must_use]
pub fn shuffle<T: Shuffle>(value: T, lane: u32) -> T {
    shfl_sync(FULL_MASK, value, lane, WARP_SIZE)
}

/// [`shfl_up_sync`] for the whole warp: the value of the lane `delta` below.
#[inline(always)]
#[must_use]
pub fn shuffle_up<T: Shuffle>(value: T, delta: u32) -> T {
    shfl_up_sync(FULL_MASK, value, delta, WARP_SIZE)
}

/// [`shfl_down_sync`] for the whole warp: the value of the lane `delta` above.
#[inline(always)]
#[must_use]
pub fn shuffle_down<T: Shuffle>(value: T, delta: u32) -> T {
    shfl_down_sync(FULL_MASK, value, delta, WARP_SIZE)
}

/// [`shfl_xor_sync`] for the whole warp: the value of the lane whose number differs by the bits
/// `lanes`.
#[inline(always)]
#[must_use]
pub fn shuffle_xor<T: Shuffle>(value: T, lanes: u32) -> T {
    shfl_xor_sync(FULL_MASK, value, lanes, WARP_SIZE)
}

/// Whether `predicate` holds for all lanes of `mask`: CUDA's `__all_sync`.
///
/// `vote.sync.all.pred`; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn all_sync(mask: u32, predicate: bool) -> bool {
    device::vote_all(mask, predicate)
}

/// Whether `predicate` holds for any lane of `mask`: CUDA's `__any_sync`.
///
/// `vote.sync.any.pred`; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn any_sync(mask: u32, predicate: bool) -> bool {
    device::vote_any(mask, predicate)
}

/// The mask of those lanes of `mask` for which `predicate` holds: CUDA's `__ballot_sync`.
///
/// `vote.sync.ballot.b32`; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn ballot_sync(mask: u32, predicate: bool) -> u32 {
    device::vote_ballot(mask, predicate)
}

/// Whether `predicate` holds for the whole warp: [`all_sync`] of every lane.
#[inline(always)]
#[must_use]
pub fn all(predicate: bool) -> bool {
    all_sync(FULL_MASK, predicate)
}

/// Whether `predicate` holds anywhere in the warp: [`any_sync`] of every lane.
#[inline(always)]
#[must_use]
pub fn any(predicate: bool) -> bool {
    any_sync(FULL_MASK, predicate)
}

/// The lanes of the warp for which `predicate` holds: [`ballot_sync`] of every lane.
#[inline(always)]
#[must_use]
pub fn ballot(predicate: bool) -> u32 {
    ballot_sync(FULL_MASK, predicate)
}

/// The lanes of `mask` whose `value` equals this lane's: CUDA's `__match_any_sync`.
///
/// `match.any.sync.b32`; PTX 6.0, sm_70.
#[inline(always)]
#[must_use]
pub fn match_any_sync(mask: u32, value: u32) -> u32 {
    device::match_any(mask, value)
}

/// The lanes that happen to run together with this one: CUDA's `__activemask()`.
///
/// `activemask.b32`; PTX 6.2, sm_30.
#[inline(always)]
#[must_use]
pub fn activemask() -> u32 {
    device::activemask()
}

/// The mask of the lanes below this one. `%lanemask_lt`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn lane_mask_lt() -> u32 {
    device::lane_mask_lt()
}

/// The warp's number in its block, by the thread's number in the block.
#[inline(always)]
#[must_use]
pub fn warp_id() -> u32 {
    crate::thread::index_in_block() / WARP_SIZE
}

/// How many warps the block has, the last of them perhaps not full.
#[inline(always)]
#[must_use]
pub fn warps_in_block() -> u32 {
    let threads = crate::thread::block_dim();
    // At most 1024 threads.
    (threads.x * threads.y * threads.z).div_ceil(WARP_SIZE)
}

/// Combines the values of all lanes of the warp; every lane gets the result.
///
/// `combine` must be associative and commutative up to rounding. The order is fixed, so floating
/// point results are the same each time.
///
/// Five `shfl.sync.bfly.b32`, ten for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn reduce<T: Shuffle>(mut value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut lanes = WARP_SIZE / 2;
    while lanes > 0 {
        value = combine(value, shuffle_xor(value, lanes));
        lanes /= 2;
    }
    value
}

/// The sum over the warp; every lane gets it. See [`reduce`].
#[inline(always)]
#[must_use]
pub fn reduce_sum<T: Shuffle + Add<Output = T>>(value: T) -> T {
    reduce(value, |a, b| a + b)
}
