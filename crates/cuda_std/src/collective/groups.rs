//! Groups of threads that work together, in the shape of CUDA's cooperative groups: the block, tiles of a warp, the
//! lanes that happen to be together, the grid.
//!
//! A group knows its members, so no mask is written down. All its members must come to each of its operations, as with
//! a barrier; where some do not come, the others wait for them or get unspecified values, memory stays safe, and the
//! software device reports it.
//!
//! | group | of | made by |
//! |---|---|---|
//! | [`ThreadBlock`] | the threads of a block | [`thread_block`] |
//! | [`WarpTile<N>`](WarpTile) | N = 1, 2, 4, … 32 neighbouring lanes | [`tiled_partition`] |
//! | [`Coalesced`] | the lanes that run together | [`coalesced_threads`], and its parts |
//! | [`GridGroup`] | all threads of the launch | a parameter of the kernel |
//!
//! The threads of a cluster of blocks are no group by themselves: they wait for each other, and read each other's shared memory,
//! through [`ClusterShared`](crate::shared::ClusterShared), a parameter of the kernel. Groups of several grids are not here.
//!
//! ```
//! use cuda_std::groups::{coalesced_threads, tiled_partition};
//! use cuda_std::prelude::*;
//!
//! /// The sum of each eight numbers, and of the odd ones among each 32.
//! #[kernel]
//! pub fn sums_of_groups(x: &[u32], mut eights: DisjointSlice<u32>, mut odd: DisjointSlice<u32>) {
//!     let x = x[grid::<1>()];
//!     let tile = tiled_partition::<8>();
//!     if let Some(sum) = eights.own() {
//!         *sum = tile.reduce_sum(x);
//!     }
//!     if let Some(sum) = odd.own() {
//!         *sum = if x % 2 == 1 { coalesced_threads().inclusive_sum(x) } else { 0 };
//!     }
//! }
//!
//! # fn main() {
//! let x: Vec<u32> = (0..64).collect();
//! let (mut eights, mut odd) = (vec![0; 64], vec![0; 64]);
//! examples::launch((1, 64), sums_of_groups(&x, &mut eights, &mut odd));
//! assert!((0..64).all(|i| eights[i] == x[i / 8 * 8..][..8].iter().sum::<u32>()));
//! assert!((0..64).all(|i| odd[i] == if i % 2 == 1 { x[i / 32 * 32..=i].iter().filter(|x| *x % 2 == 1).sum() } else { 0 }));
//! # examples::becomes("sums_of_groups", &["redux.sync.add", "activemask.b32", "shfl.sync.idx.b32"]);
//! # }
//! ```

use core::sync::atomic::Ordering::{AcqRel, Acquire};

use glam::UVec3;

use crate::abi::parameter::{KernelParameter, Role};
use crate::abi::record;
use crate::collective::warp;
use crate::collective::warp::lanes::{self, Lanes as _};
use crate::collective::warp::{Bits, Extreme, FULL_MASK, Match, Shuffle, Sum, WARP_SIZE};
use crate::device::sync::{sync_threads, sync_threads_or, sync_warp};
use crate::device::thread::{block_dim, block_idx, block_number, grid_dim, index_in_block, is_first_in_block, lane_id};
use crate::device::{intrinsics, waiting};
use crate::mem::atomic::Atomic;

/// The threads of a block.
#[derive(Clone, Copy, Debug)]
pub struct ThreadBlock(());

/// The calling thread's block.
#[inline(always)]
#[must_use]
pub fn thread_block() -> ThreadBlock {
    ThreadBlock(())
}

impl ThreadBlock {
    /// How many threads the block has.
    #[inline(always)]
    #[must_use]
    pub fn size(self) -> u32 {
        crate::device::thread::threads_in_block()
    }

    /// The rank of the calling thread, counted along x, then y, then z.
    #[inline(always)]
    #[must_use]
    pub fn thread_rank(self) -> u32 {
        index_in_block()
    }

    /// The block's index in the grid.
    #[inline(always)]
    #[must_use]
    pub fn group_index(self) -> UVec3 {
        block_idx()
    }

    /// Threads of the block along each dimension.
    #[inline(always)]
    #[must_use]
    pub fn dim_threads(self) -> UVec3 {
        block_dim()
    }

    /// Waits until every thread of the block is here: [`sync_threads`]. `bar.sync 0`; PTX 1.0.
    #[inline(always)]
    pub fn sync(self) {
        sync_threads();
    }
}

/// `N` neighbouring lanes of a warp, of those that a warp is divided into.
#[derive(Clone, Copy, Debug)]
pub struct WarpTile<const N: u32>(());

/// The calling thread's tile when each warp is divided into tiles of `N` lanes: CUDA's `tiled_partition<N>(block)`.
/// `N` is 1, 2, 4, 8, 16 or 32.
#[inline(always)]
#[must_use]
pub fn tiled_partition<const N: u32>() -> WarpTile<N> {
    const { assert!(N.is_power_of_two() && N <= 32, "a tile has 1, 2, 4, 8, 16 or 32 lanes") };
    WarpTile(())
}

impl<const N: u32> WarpTile<N> {
    /// The number of the tile within its block.
    #[inline(always)]
    #[must_use]
    pub fn meta_group_rank(self) -> u32 {
        index_in_block() / N
    }

    /// How many tiles the block has, the last perhaps not full.
    #[inline(always)]
    #[must_use]
    pub fn meta_group_size(self) -> u32 {
        thread_block().size().div_ceil(N)
    }

    /// The value of the lane whose rank differs by the bits `lanes`, which are below the size.
    ///
    /// `shfl.sync.bfly.b32`; PTX 6.0, sm_30.
    #[inline(always)]
    #[must_use]
    pub fn shfl_xor<T: Shuffle>(self, value: T, lanes: u32) -> T {
        warp::shfl_xor_sync(self.mask(), value, lanes, N)
    }

    /// The lanes of the tile for which `predicate` holds, the first in bit 0.
    ///
    /// `vote.sync.ballot.b32`; PTX 6.0, sm_30.
    #[inline(always)]
    #[must_use]
    pub fn ballot(self, predicate: bool) -> u32 {
        self.own_bits(warp::ballot_sync(self.mask(), predicate))
    }

    /// The lanes of the tile whose `value` equals this one's, the first in bit 0.
    ///
    /// `match.any.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use]
    pub fn match_any<T: Match>(self, value: T) -> u32 {
        self.own_bits(warp::match_any_sync(self.mask(), value))
    }

    /// The tile's part of a mask of the warp.
    #[inline(always)]
    fn own_bits(self, mask: u32) -> u32 {
        if N == WARP_SIZE {
            return mask;
        }
        mask >> (lane_id() & !(N - 1)) & ((1 << (N % WARP_SIZE)) - 1)
    }
}

// SAFETY: neighbours in a warp have the same tile.
unsafe impl<const N: u32> lanes::Lanes for WarpTile<N> {
    #[inline(always)]
    fn mask(self) -> u32 {
        if N == WARP_SIZE {
            return FULL_MASK;
        }
        ((1 << (N % WARP_SIZE)) - 1) << (lane_id() & !(N - 1))
    }

    #[inline(always)]
    fn size(self) -> u32 {
        N
    }

    #[inline(always)]
    fn rank(self) -> u32 {
        lane_id() & (N - 1)
    }

    #[inline(always)]
    fn value_of<T: Shuffle>(self, value: T, rank: u32) -> T {
        warp::shfl_sync(self.mask(), value, rank, N)
    }

    #[inline(always)]
    fn value_below<T: Shuffle>(self, value: T, delta: u32) -> T {
        warp::shfl_up_sync(self.mask(), value, delta, N)
    }

    #[inline(always)]
    fn value_above<T: Shuffle>(self, value: T, delta: u32) -> T {
        warp::shfl_down_sync(self.mask(), value, delta, N)
    }

    #[inline(always)]
    fn is_tile(self) -> bool {
        true
    }

    #[inline(always)]
    fn value_across<T: Shuffle>(self, value: T, lanes: u32) -> T {
        self.shfl_xor(value, lanes)
    }
}

/// Lanes of a warp that run together. While they are a group, they must stay together, or meet again before each
/// operation of the group.
#[derive(Clone, Copy, Debug)]
pub struct Coalesced {
    mask: u32,
}

/// The lanes that run together with the calling one, here and now: after a branch those that took it.
///
/// `activemask.b32`; PTX 6.2, sm_30.
#[inline(always)]
#[must_use]
pub fn coalesced_threads() -> Coalesced {
    Coalesced { mask: intrinsics::activemask() }
}

impl Coalesced {
    /// The members whose `predicate` equals the calling lane's: CUDA's `binary_partition`.
    ///
    /// `vote.sync.ballot.b32`; PTX 6.0, sm_30.
    #[inline(always)]
    #[must_use]
    pub fn partition(self, predicate: bool) -> Self {
        let yes = warp::ballot_sync(self.mask, predicate);
        Self { mask: if predicate { yes } else { self.mask & !yes } }
    }

    /// The members whose `value` equals the calling lane's: CUDA's `labeled_partition`.
    ///
    /// ```
    /// use cuda_std::groups::coalesced_threads;
    /// use cuda_std::prelude::*;
    ///
    /// /// Counts how often each value occurs, with one atomic addition for all lanes that have the same.
    /// #[kernel]
    /// pub fn count_together(x: &[u32], counts: &[Atomic<u32>]) {
    ///     for i in grid_stride(x.len()) {
    ///         let same = coalesced_threads().matching(x[i]);
    ///         if same.thread_rank() == 0 {
    ///             counts[x[i] as usize].fetch_add(same.size());
    ///         }
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let mut counts = [0; 3];
    /// examples::launch((2, 64), count_together(&[vec![0; 500], vec![2; 77]].concat(), &mut counts));
    /// assert_eq!(counts, [500, 0, 77]);
    /// # examples::becomes("count_together", &["activemask.b32", "match.any.sync.b32", "atom.global.add.u32"]);
    /// # }
    /// ```
    ///
    /// `match.any.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use]
    pub fn matching<T: Match>(self, value: T) -> Self {
        Self { mask: warp::match_any_sync(self.mask, value) }
    }

    /// The members for which `predicate` holds, the first in bit 0.
    ///
    /// `vote.sync.ballot.b32`, and a loop over the members; PTX 6.0, sm_30.
    #[inline(always)]
    #[must_use]
    pub fn ballot(self, predicate: bool) -> u32 {
        let votes = warp::ballot_sync(self.mask, predicate);
        let (mut left, mut rank, mut packed) = (self.mask, 0, 0);
        while left != 0 {
            packed |= (votes >> left.trailing_zeros() & 1) << rank;
            left &= left - 1;
            rank += 1;
        }
        packed
    }

    /// The lane of the member of this rank, or a number that is no lane's.
    #[inline(always)]
    fn lane(self, rank: u32) -> u32 {
        if self.mask == FULL_MASK {
            return rank;
        }
        intrinsics::fns(self.mask, 0, rank as i32 + 1)
    }
}

// SAFETY: `activemask` gives all converged lanes the same mask, and votes among these lanes give all the same result.
unsafe impl lanes::Lanes for Coalesced {
    #[inline(always)]
    fn mask(self) -> u32 {
        self.mask
    }

    #[inline(always)]
    fn size(self) -> u32 {
        self.mask.count_ones()
    }

    #[inline(always)]
    fn rank(self) -> u32 {
        (self.mask & warp::lane_mask_lt()).count_ones()
    }

    #[inline(always)]
    fn value_of<T: Shuffle>(self, value: T, rank: u32) -> T {
        warp::shfl_sync(self.mask, value, self.lane(rank), WARP_SIZE)
    }

    #[inline(always)]
    fn value_below<T: Shuffle>(self, value: T, delta: u32) -> T {
        let rank = self.rank();
        self.value_of(value, if rank >= delta { rank - delta } else { rank })
    }

    #[inline(always)]
    fn value_above<T: Shuffle>(self, value: T, delta: u32) -> T {
        let (rank, size) = (self.rank(), self.size());
        self.value_of(value, if delta < size - rank { rank + delta } else { rank })
    }

    #[inline(always)]
    fn is_tile(self) -> bool {
        false
    }

    #[inline(always)]
    fn value_across<T: Shuffle>(self, value: T, _: u32) -> T {
        value
    }
}

/// Reductions by name.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $bound:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// For 32-bit integers, if the code is built for sm_80 or later, one `redux.sync`; PTX 7.0.
        #[inline(always)]
        #[must_use]
        pub fn $name<T: $bound>(self, value: T) -> T {
            lanes::$name(self, value)
        }
    )*};
}

/// Methods that tiles and coalesced lanes share.
macro_rules! collective {
    ($($group:ty $([$($generic:tt)*])?;)*) => {$(
        impl $(<$($generic)*>)? $group {
            /// How many lanes the group has.
            #[inline(always)]
            #[must_use]
            pub fn size(self) -> u32 {
                lanes::Lanes::size(self)
            }

            /// The rank of the calling lane in the group.
            #[inline(always)]
            #[must_use]
            pub fn thread_rank(self) -> u32 {
                self.rank()
            }

            /// Waits until all lanes of the group are here. All lanes then see the earlier writes of every lane.
            ///
            /// `bar.warp.sync`; PTX 6.0, sm_30.
            #[inline(always)]
            pub fn sync(self) {
                sync_warp(self.mask());
            }

            /// The value of the lane of rank `rank`, which is below the size.
            ///
            /// `shfl.sync.idx.b32`; PTX 6.0, sm_30.
            #[inline(always)]
            #[must_use]
            pub fn shfl<T: Shuffle>(self, value: T, rank: u32) -> T {
                self.value_of(value, rank)
            }

            /// The value of the lane whose rank is `delta` less, or the own value if no lane has this rank.
            ///
            /// `shfl.sync`; PTX 6.0, sm_30.
            #[inline(always)]
            #[must_use]
            pub fn shfl_up<T: Shuffle>(self, value: T, delta: u32) -> T {
                self.value_below(value, delta)
            }

            /// The value of the lane whose rank is `delta` more, or the own value if no lane has this rank.
            ///
            /// `shfl.sync`; PTX 6.0, sm_30.
            #[inline(always)]
            #[must_use]
            pub fn shfl_down<T: Shuffle>(self, value: T, delta: u32) -> T {
                self.value_above(value, delta)
            }

            /// Whether `predicate` holds for all lanes of the group. `vote.sync.all.pred`; PTX 6.0, sm_30.
            #[inline(always)]
            #[must_use]
            pub fn all(self, predicate: bool) -> bool {
                warp::all_sync(self.mask(), predicate)
            }

            /// Whether `predicate` holds for any lane of the group. `vote.sync.any.pred`; PTX 6.0, sm_30.
            #[inline(always)]
            #[must_use]
            pub fn any(self, predicate: bool) -> bool {
                warp::any_sync(self.mask(), predicate)
            }

            /// Whether all lanes of the group have the same `value`. `match.all.sync`; PTX 6.0, sm_70.
            #[inline(always)]
            #[must_use]
            pub fn match_all<T: Match>(self, value: T) -> bool {
                warp::match_all_sync(self.mask(), value)
            }

            /// Combines the values of all lanes; every lane gets the result. `combine` must be associative and
            /// commutative up to rounding; the order is fixed.
            ///
            /// `shfl.sync` for each doubling of the size; PTX 6.0, sm_30.
            #[inline(always)]
            #[must_use]
            pub fn reduce<T: Shuffle>(self, value: T, combine: impl Fn(T, T) -> T) -> T {
                lanes::reduce(self, value, combine)
            }

            /// Combines the values of the lanes up to and with the calling one. `combine` must be associative up to
            /// rounding.
            #[inline(always)]
            #[must_use]
            pub fn inclusive_scan<T: Shuffle>(self, value: T, combine: impl Fn(T, T) -> T) -> T {
                lanes::inclusive_scan(self, value, combine)
            }

            /// Combines the values of the lanes before the calling one; the first gets `first`. `combine` must be
            /// associative up to rounding.
            #[inline(always)]
            #[must_use]
            pub fn exclusive_scan<T: Shuffle>(self, value: T, first: T, combine: impl Fn(T, T) -> T) -> T {
                lanes::exclusive_scan(self, value, first, combine)
            }

            /// The sum of the values of the lanes up to and with the calling one; integers wrap around.
            #[inline(always)]
            #[must_use]
            pub fn inclusive_sum<T: Sum>(self, value: T) -> T {
                self.inclusive_scan(value, T::plus)
            }

            /// The sum of the values of the lanes before the calling one; integers wrap around.
            #[inline(always)]
            #[must_use]
            pub fn exclusive_sum<T: Sum>(self, value: T) -> T {
                self.exclusive_scan(value, T::ZERO, T::plus)
            }

            reductions! {
                /// The sum of all lanes' values; every lane gets it. Integers wrap around.
                reduce_sum: Sum;
                /// The smallest of all lanes' values; every lane gets it. NaN loses against a number.
                reduce_min: Extreme;
                /// The largest of all lanes' values; every lane gets it. NaN loses against a number.
                reduce_max: Extreme;
                /// The bits that all lanes' values have; every lane gets them.
                reduce_and: Bits;
                /// The bits that any lane's value has; every lane gets them.
                reduce_or: Bits;
                /// The bits that an odd number of lanes' values have; every lane gets them.
                reduce_xor: Bits;
            }
        }
    )*};
}

collective! {
    WarpTile<N> [const N: u32];
    Coalesced;
}

/// All threads of a launch, which can wait for each other: a parameter of a kernel that is declared
/// `#[kernel(cooperative)]`, which the host does not pass.
///
/// ```
/// use cuda_std::groups::GridGroup;
/// use cuda_std::prelude::*;
///
/// /// Each thread adds what its neighbour in the ring had, three times over.
/// #[kernel(cooperative)]
/// pub fn ring(grid: GridGroup, x: &[Atomic<u32>]) {
///     let i = grid.thread_rank() as usize;
///     for _ in 0..3 {
///         let next = x[(i + 1) % x.len()].load();
///         grid.sync();
///         x[i].fetch_add(next);
///         grid.sync();
///     }
/// }
///
/// # fn main() {
/// let mut x = vec![1_u32; 128];
/// examples::launch((4, 32), ring(&mut x));
/// assert_eq!(x, [8; 128]);
/// # examples::becomes("ring", &["bar", "atom.acq_rel.gpu.global.add.u32", "ld.acquire.gpu"]);
/// # }
/// ```
///
/// The barrier is a counter of the launch's own in device memory: the first thread of each block counts its block in, and
/// waits for the others. A launch of such a kernel is waited for, as one with host memory.
#[derive(Debug)]
pub struct GridGroup<'l> {
    counter: &'l Atomic<u32>,
}

impl GridGroup<'_> {
    /// How many threads the launch has.
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> u64 {
        self.blocks() * u64::from(thread_block().size())
    }

    /// The rank of the calling thread: blocks in the order of their numbers, and in each block its threads.
    #[inline(always)]
    #[must_use]
    pub fn thread_rank(&self) -> u64 {
        block_number() * u64::from(thread_block().size()) + u64::from(index_in_block())
    }

    /// How many blocks the launch has.
    #[inline(always)]
    #[must_use]
    pub fn blocks(&self) -> u64 {
        let blocks = grid_dim();
        // A cooperative launch has no more blocks than the device runs at once.
        u64::from(blocks.x) * u64::from(blocks.y) * u64::from(blocks.z)
    }

    /// Waits until every thread of the launch is here. All threads then see the earlier writes of every thread.
    ///
    /// All threads of all blocks must come here. If a thread has panicked, the other threads exit.
    ///
    /// `bar.sync 0`, `atom.acq_rel.gpu.add.u32`, `ld.acquire.gpu.u32` in a loop, `bar.sync 0`; PTX 6.0, sm_70.
    #[inline(always)]
    pub fn sync(&self) {
        /// Changes each time that all blocks have come: the first block adds what the others leave to it.
        const TURN: u32 = 1 << 31;
        /// After how many attempts a thread looks whether a thread of the grid has panicked, which takes long.
        const PATIENCE: u32 = 1024;
        sync_threads();
        let mut in_vain = false;
        if is_first_in_block() {
            let counter = self.counter.device();
            let share = if block_number() == 0 { TURN - (self.blocks() as u32 - 1) } else { 1 };
            let before = counter.fetch_add(share, AcqRel);
            let mut attempts = 0_u32;
            while (counter.load(Acquire) ^ before) & TURN == 0 {
                attempts = attempts.wrapping_add(1);
                if attempts.is_multiple_of(PATIENCE) && record::has_panicked() {
                    in_vain = true;
                    break;
                }
            }
        }
        if sync_threads_or(in_vain) {
            waiting::exit();
        }
    }
}

// SAFETY: a counter of the launch's own, which starts at 0: see `Workspace`.
unsafe impl KernelParameter for GridGroup<'_> {
    const COOPERATIVE: bool = true;
    const ROLE: Role = Role::Value;
    type Element = Atomic<u32>;
    type A = &'static [Atomic<u32>; 2];
    type B = usize;
    type C = ();
    type D = ();
    type Value<'l> = GridGroup<'l>;

    #[inline(always)]
    unsafe fn assemble(words: Self::A, _: usize, (): (), (): ()) -> Self::Value<'static> {
        GridGroup { counter: &words[0] }
    }
}
