//! The 32 threads of a warp: exchange of values, votes, and reductions without shared memory.
//!
//! The functions without a mask are for the whole warp: every lane that has not returned from the
//! kernel must come to the call. If one does not, the others wait for it or get unspecified values;
//! memory is safe either way, and the software device reports it. The `_sync` functions take the
//! mask of the lanes that take part, the caller among them; it is the caller's to get right. For parts of a warp the
//! [groups](crate::groups) know their masks.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// For each lane: the sum of those before it, the largest of all, and how many have the same value.
//! #[kernel]
//! pub fn lanes_together(x: &[u64], mut before: DisjointSlice<u64>, mut largest: DisjointSlice<u64>, mut same: DisjointSlice<u32>) {
//!     let i = grid::<1>();
//!     let x = x[i];
//!     let (sum, most) = (warp::exclusive_sum(x), warp::reduce_max(x));
//!     let equal = warp::match_any_sync(warp::FULL_MASK, x).count_ones();
//!     if let (Some(before), Some(largest), Some(same)) = (before.own(), largest.own(), same.own()) {
//!         (*before, *largest, *same) = (sum, most, equal);
//!     }
//! }
//!
//! # fn main() {
//! let x: Vec<u64> = (0..64).map(|i| i % 8 << 40).collect();
//! let (mut before, mut largest, mut same) = (vec![0; 64], vec![0; 64], vec![0; 64]);
//! examples::launch((2, 32), lanes_together(&x, &mut before, &mut largest, &mut same));
//! assert!((0..64).all(|i| before[i] == x[i / 32 * 32..i].iter().sum::<u64>()));
//! assert_eq!((largest, same), (vec![7 << 40; 64], vec![4; 64]));
//! # examples::becomes("lanes_together", &["shfl.sync.up.b32", "shfl.sync.bfly.b32", "match.any.sync.b64"]);
//! # examples::avoids("lanes_together", &["ld.local", "st.local"]);
//! # }
//! ```

pub(crate) mod lanes;
mod shuffle;

pub use lanes::{Bits, Extreme, Sum};
pub use shuffle::Shuffle;

use crate::device::intrinsics;
pub use crate::device::intrinsics::WARP_SIZE;
pub use crate::device::sync::sync_warp;
pub use crate::device::thread::lane_id;

/// The mask of all lanes.
pub const FULL_MASK: u32 = u32::MAX;

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
    value.in_words(|word| intrinsics::shfl_idx(mask, word, lane, segments(width, 0x1f)))
}

/// The value of the lane `delta` below, or the own value if the warp has no such lane: CUDA's
/// `__shfl_up_sync`.
///
/// `shfl.sync.up.b32`, twice for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn shfl_up_sync<T: Shuffle>(mask: u32, value: T, delta: u32, width: u32) -> T {
    value.in_words(|word| intrinsics::shfl_up(mask, word, delta, segments(width, 0)))
}

/// The value of the lane `delta` above, or the own value if the warp has no such lane: CUDA's
/// `__shfl_down_sync`.
///
/// `shfl.sync.down.b32`, twice for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn shfl_down_sync<T: Shuffle>(mask: u32, value: T, delta: u32, width: u32) -> T {
    value.in_words(|word| intrinsics::shfl_down(mask, word, delta, segments(width, 0x1f)))
}

/// The value of the lane whose number differs by the bits `lanes`: CUDA's `__shfl_xor_sync`.
///
/// `shfl.sync.bfly.b32`, twice for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn shfl_xor_sync<T: Shuffle>(mask: u32, value: T, lanes: u32, width: u32) -> T {
    value.in_words(|word| intrinsics::shfl_bfly(mask, word, lanes, segments(width, 0x1f)))
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
    intrinsics::vote_all(mask, predicate)
}

/// Whether `predicate` holds for any lane of `mask`: CUDA's `__any_sync`.
///
/// `vote.sync.any.pred`; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn any_sync(mask: u32, predicate: bool) -> bool {
    intrinsics::vote_any(mask, predicate)
}

/// The mask of those lanes of `mask` for which `predicate` holds: CUDA's `__ballot_sync`.
///
/// `vote.sync.ballot.b32`; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn ballot_sync(mask: u32, predicate: bool) -> u32 {
    intrinsics::vote_ballot(mask, predicate)
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

/// A value by which lanes find those that have the same: an integer of 32 or 64 bits, or the bits of a float.
pub trait Match: sealed::Match {}

mod sealed {
    pub trait Match: Copy {
        fn any(self, mask: u32) -> u32;
        fn all(self, mask: u32) -> u32;
    }
}

macro_rules! matches {
    ($($ty:ident as $bits:ident: $to:expr, $any:ident, $all:ident;)*) => {$(
        impl Match for $ty {}
        impl sealed::Match for $ty {
            #[inline(always)]
            fn any(self, mask: u32) -> u32 {
                let to: fn($ty) -> $bits = $to;
                intrinsics::$any(mask, to(self))
            }
            #[inline(always)]
            fn all(self, mask: u32) -> u32 {
                let to: fn($ty) -> $bits = $to;
                intrinsics::$all(mask, to(self))
            }
        }
    )*};
}

matches! {
    u32 as u32: |value| value, match_any, match_all;
    i32 as u32: i32::cast_unsigned, match_any, match_all;
    f32 as u32: f32::to_bits, match_any, match_all;
    u64 as u64: |value| value, match_any_64, match_all_64;
    i64 as u64: i64::cast_unsigned, match_any_64, match_all_64;
    f64 as u64: f64::to_bits, match_any_64, match_all_64;
    usize as u64: |value| value as u64, match_any_64, match_all_64;
}

/// The lanes of `mask` whose `value` equals this lane's: CUDA's `__match_any_sync`.
///
/// `match.any.sync.b32`, `match.any.sync.b64`; PTX 6.0, sm_70.
#[inline(always)]
#[must_use]
pub fn match_any_sync<T: Match>(mask: u32, value: T) -> u32 {
    value.any(mask)
}

/// Whether all lanes of `mask` have the same `value`: CUDA's `__match_all_sync`.
///
/// `match.all.sync.b32`, `match.all.sync.b64`; PTX 6.0, sm_70.
#[inline(always)]
#[must_use]
pub fn match_all_sync<T: Match>(mask: u32, value: T) -> bool {
    value.all(mask) != 0
}

/// The lanes that happen to run together with this one: CUDA's `__activemask()`.
///
/// `activemask.b32`; PTX 6.2, sm_30.
#[inline(always)]
#[must_use]
pub fn activemask() -> u32 {
    intrinsics::activemask()
}

/// The mask of the lanes below this one. `%lanemask_lt`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn lane_mask_lt() -> u32 {
    intrinsics::lane_mask_lt()
}

/// The warp's number in its block, by the thread's number in the block.
#[inline(always)]
#[must_use]
pub fn warp_id() -> u32 {
    crate::device::thread::index_in_block() / WARP_SIZE
}

/// How many warps the block has, the last of them perhaps not full.
#[inline(always)]
#[must_use]
pub fn warps_in_block() -> u32 {
    let threads = crate::device::thread::block_dim();
    // At most 1024 threads.
    (threads.x * threads.y * threads.z).div_ceil(WARP_SIZE)
}

/// The mask of this lane and those below. `%lanemask_le`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn lane_mask_le() -> u32 {
    intrinsics::lane_mask_lt() << 1 | 1
}

/// The whole warp as a group: see [`crate::groups`].
#[inline(always)]
fn warp() -> crate::collective::groups::WarpTile<32> {
    crate::collective::groups::tiled_partition()
}

/// Combines the values of all lanes of the warp; every lane gets the result.
///
/// `combine` must be associative and commutative up to rounding. The order is fixed, so floating
/// point results are the same each time.
///
/// Five `shfl.sync.bfly.b32`, ten for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn reduce<T: Shuffle>(value: T, combine: impl Fn(T, T) -> T) -> T {
    lanes::reduce(warp(), value, combine)
}

/// Combines the values of the lanes up to and with this one. `combine` must be associative up to rounding.
///
/// Five `shfl.sync.up.b32`, ten for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn inclusive_scan<T: Shuffle>(value: T, combine: impl Fn(T, T) -> T) -> T {
    lanes::inclusive_scan(warp(), value, combine)
}

/// Combines the values of the lanes below this one; the first lane gets `first`. `combine` must be associative up to
/// rounding.
///
/// Six `shfl.sync.up.b32`, twelve for 64 bits; PTX 6.0, sm_30.
#[inline(always)]
#[must_use]
pub fn exclusive_scan<T: Shuffle>(value: T, first: T, combine: impl Fn(T, T) -> T) -> T {
    lanes::exclusive_scan(warp(), value, first, combine)
}

/// The sum of the values of the lanes up to and with this one; integers wrap around. See [`inclusive_scan`].
#[inline(always)]
#[must_use]
pub fn inclusive_sum<T: Sum>(value: T) -> T {
    inclusive_scan(value, T::plus)
}

/// The sum of the values of the lanes below this one; integers wrap around. See [`exclusive_scan`].
#[inline(always)]
#[must_use]
pub fn exclusive_sum<T: Sum>(value: T) -> T {
    exclusive_scan(value, T::ZERO, T::plus)
}

/// Reductions by name.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $bound:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// See [`reduce`]; where the code is built for sm_80 or later, of 32-bit integers one `redux.sync`; PTX 7.0.
        #[inline(always)]
        #[must_use]
        pub fn $name<T: $bound>(value: T) -> T {
            lanes::$name(warp(), value)
        }
    )*};
}

reductions! {
    /// The sum over the warp; every lane gets it. Integers wrap around.
    reduce_sum: Sum;
    /// The smallest value of the warp; every lane gets it. NaN loses against a number.
    reduce_min: Extreme;
    /// The largest value of the warp; every lane gets it. NaN loses against a number.
    reduce_max: Extreme;
    /// The bits that the values of all lanes have; every lane gets them.
    reduce_and: Bits;
    /// The bits that the value of any lane has; every lane gets them.
    reduce_or: Bits;
    /// The bits that the values of an odd number of lanes have; every lane gets them.
    reduce_xor: Bits;
}
