//! The threads of a block: reductions and scans, as CUB's `BlockReduce` and `BlockScan` are.
//!
//! A kernel takes a [`BlockScratch`] as a parameter, which the host does not pass. Its methods have the names that those of a
//! [`warp`](crate::warp) have, and may be called any number of times, in loops and closures too.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The softmax of each row, one block for each row.
//! #[kernel]
//! pub fn softmax_by_blocks(mut y: Disjoint<f32, Rows>, mut block: BlockScratch<f32>) {
//!     y.each_row(|_, mut row| {
//!         let mut largest = f32::NEG_INFINITY;
//!         row.each(|_, y| largest = largest.max(*y));
//!         let largest = block.reduce_max(largest);
//!
//!         let mut sum = 0.0;
//!         row.each(|_, y| {
//!             *y = (*y - largest).exp();
//!             sum += *y;
//!         });
//!         let sum = block.reduce_sum(sum);
//!         row.each(|_, y| *y /= sum);
//!     });
//! }
//!
//! # fn main() {
//! // Blocks of any size, which need not be whole warps.
//! let mut y = vec![3.0_f32; 5 * 200];
//! examples::launch((2, 72), softmax_by_blocks((&mut y, [5, 200])));
//! assert_eq!(y, [0.005; 5 * 200]);
//! # examples::becomes("softmax_by_blocks", &["shfl.sync", "barrier", "st.shared.b32", "ld.shared"]);
//! # }
//! ```
//!
//! | CUB | here |
//! |---|---|
//! | `BlockReduce<T, N>::TempStorage` | a parameter `mut block: BlockScratch<T>`, for blocks of any shape and size |
//! | `BlockReduce(temp).Sum(x)`, `.Reduce(x, op)` | [`block.reduce_sum(x)`](BlockScratch::reduce_sum), [`block.reduce(x, op)`](BlockScratch::reduce): every thread gets the result, not only the first |
//! | `BlockScan(temp).InclusiveSum(x, y)` | `y = `[`block.inclusive_sum(x)`](BlockScratch::inclusive_sum) |
//! | `BlockScan(temp).ExclusiveSum(x, y, total)` | `(y, total) = `[`block.exclusive_sum_with_total(x)`](BlockScratch::exclusive_sum_with_total) |
//! | `__syncthreads()` before the storage is used again | nothing |
//!
//! Threads are counted along x, then y, then z. Each warp combines its own values by shuffles, its first lane puts the result
//! into shared memory, and behind one barrier every thread combines the results of the warps, in their order. So a method
//! costs one barrier, and all threads get the same bits.
//!
//! Why that is sound: the memory is an [`Alternating`] tile, so what threads write in one call, they read behind its barrier, and
//! write again no earlier than behind the next. If threads come to the barrier from different methods, or some have returned from
//! the kernel, results are unspecified, and memory is safe.

use crate::abi::parameter::Element;
use crate::collective::warp::lanes::{self, Lanes};
use crate::collective::warp::{self, Bits, Extreme, Shuffle, Sum, WARP_SIZE};
use crate::device::thread::threads_in_block;
use crate::mem::shared::{Alternating, Layout, PerWarp, SharedParameter, Storage};

/// Shared memory for reductions and scans over the threads of a block, of any shape and size. A parameter of a kernel, as
/// [`Shared`](crate::shared::Shared) is. See the [module](self).
///
/// Every thread of the block must call each method. The scratch takes 64 elements of shared memory.
#[derive(Debug)]
pub struct BlockScratch<'l, T: Element>(Alternating<'l, PerWarp<T>>);

// SAFETY: that of `Alternating`.
unsafe impl<T: Element> SharedParameter for BlockScratch<'_, T> {
    type Memory = <Alternating<'static, PerWarp<T>> as SharedParameter>::Memory;
    type Value<'l> = BlockScratch<'l, T>;
    const BLOCK: [u32; 3] = <PerWarp<T> as Layout>::BLOCK;

    #[inline(always)]
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<Self::Memory>) -> Self::Value<'static> {
        // SAFETY: the caller's.
        BlockScratch(unsafe { Alternating::<PerWarp<T>>::assemble::<BARRIER>(storage) })
    }
}

/// The lanes that the calling thread's warp has: 32, and fewer in the last warp of a block that is not whole warps.
#[derive(Clone, Copy)]
struct LanesOfWarp {
    size: u32,
}

impl LanesOfWarp {
    #[inline(always)]
    fn new() -> Self {
        let threads = threads_in_block();
        // A constant for blocks of whole warps.
        let size = if threads.is_multiple_of(WARP_SIZE) {
            WARP_SIZE
        } else {
            threads.wrapping_sub(warp::warp_id() * WARP_SIZE).min(WARP_SIZE)
        };
        Self { size }
    }
}

// SAFETY: the lanes below the size, which is the same in all lanes of a warp.
unsafe impl Lanes for LanesOfWarp {
    #[inline(always)]
    fn mask(self) -> u32 {
        u32::MAX.wrapping_shr(WARP_SIZE.wrapping_sub(self.size))
    }

    #[inline(always)]
    fn size(self) -> u32 {
        self.size
    }

    #[inline(always)]
    fn rank(self) -> u32 {
        warp::lane_id()
    }

    #[inline(always)]
    fn value_of<T: Shuffle>(self, value: T, rank: u32) -> T {
        warp::shfl_sync(self.mask(), value, rank, WARP_SIZE)
    }

    #[inline(always)]
    fn value_below<T: Shuffle>(self, value: T, delta: u32) -> T {
        warp::shfl_up_sync(self.mask(), value, delta, WARP_SIZE)
    }

    #[inline(always)]
    fn value_above<T: Shuffle>(self, value: T, delta: u32) -> T {
        warp::shfl_down_sync(self.mask(), value, delta, WARP_SIZE)
    }

    #[inline(always)]
    fn is_tile(self) -> bool {
        self.size == WARP_SIZE
    }

    #[inline(always)]
    fn value_across<T: Shuffle>(self, value: T, lanes: u32) -> T {
        warp::shfl_xor_sync(self.mask(), value, lanes, WARP_SIZE)
    }
}

impl<T: Element + Shuffle> BlockScratch<'_, T> {
    /// Combines the values of all threads of the block; every thread gets the result.
    ///
    /// `combine` must be associative and commutative up to rounding. The order is fixed, so floating-point results are the same
    /// each time.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// The number furthest from zero of each block, which has two dimensions.
    /// #[kernel]
    /// pub fn furthest(x: &[f32], mut y: Disjoint<f32, PerBlock>, mut block: BlockScratch<f32>) {
    ///     let own = x[thread::index_in_block() as usize];
    ///     let most = block.reduce(own, |a, b| if a.abs() >= b.abs() { a } else { b });
    ///     if let Some(y) = y.own() {
    ///         *y = most;
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let x: Vec<f32> = (0..11 * 9).map(|i| if i == 70 { -200.0 } else { i as f32 }).collect();
    /// let mut y = [0.0];
    /// examples::launch((1, (11, 9)), furthest(&x, &mut y));
    /// assert_eq!(y, [-200.0]);
    /// # }
    /// ```
    ///
    /// Five `shfl.sync.b32`, ten for 64 bits; PTX 6.0, sm_30. `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use]
    pub fn reduce(&mut self, value: T, combine: impl Fn(T, T) -> T) -> T {
        let of_warp = lanes::reduce(LanesOfWarp::new(), value, &combine);
        self.join(of_warp, combine)
    }

    /// Combines the values of the threads up to and with the calling one. `combine` must be associative up to rounding.
    ///
    /// Six `shfl.sync.b32`, twelve for 64 bits; PTX 6.0, sm_30. `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use]
    pub fn inclusive_scan(&mut self, value: T, combine: impl Fn(T, T) -> T) -> T {
        let Scanned { through, before, .. } = self.scan(value, &combine);
        match before {
            Some(before) => combine(before, through),
            None => through,
        }
    }

    /// Combines the values of the threads before the calling one; the first thread gets `first`. `combine` must be associative up
    /// to rounding.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// For each element the largest of those before it.
    /// #[kernel]
    /// pub fn largest_before(x: &[u32], mut y: DisjointSlice<u32>, mut block: BlockScratch<u32>) {
    ///     let largest = block.exclusive_scan(x[grid::<1>()], 0, u32::max);
    ///     if let Some(y) = y.own() {
    ///         *y = largest;
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let x: Vec<u32> = (0..96).map(|i| i * 37 % 97).collect();
    /// let mut y = [1; 96];
    /// examples::launch((1, 96), largest_before(&x, &mut y));
    /// assert!((0..96).all(|i| y[i] == x[..i].iter().copied().max().unwrap_or(0)));
    /// # }
    /// ```
    ///
    /// Seven `shfl.sync.b32`, fourteen for 64 bits; PTX 6.0, sm_30. `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use]
    pub fn exclusive_scan(&mut self, value: T, first: T, combine: impl Fn(T, T) -> T) -> T {
        self.scan(value, &combine).exclusive(first, combine)
    }

    /// The total of each warp, for all threads; the warp's first lane has it.
    #[inline(always)]
    fn publish(&mut self, of_warp: T) -> &[T] {
        if let Some(own) = self.0.back() {
            *own = of_warp;
        }
        self.0.swap();
        let warps = self.0.front();
        let many = (warp::warps_in_block() as usize).min(warps.len());
        &warps[..many]
    }

    /// Combines what the warps come to, in their order.
    #[inline(always)]
    fn join(&mut self, of_warp: T, combine: impl Fn(T, T) -> T) -> T {
        let all = self.publish(of_warp).iter().copied().reduce(combine);
        // A block has a warp at least.
        all.unwrap_or(of_warp)
    }

    #[inline(always)]
    fn scan(&mut self, value: T, combine: impl Fn(T, T) -> T) -> Scanned<'_, T> {
        let lanes = LanesOfWarp::new();
        let through = lanes::inclusive_scan(lanes, value, &combine);
        let of_warp = lanes.value_of(through, lanes.size() - 1);
        let warps = self.publish(of_warp);
        Scanned {
            through,
            below: lanes.value_below(through, 1),
            before: warps.iter().take(warp::warp_id() as usize).copied().reduce(combine),
            warps,
        }
    }
}

/// A scan of the block.
struct Scanned<'s, T> {
    /// The lanes of the warp up to and with the calling one.
    through: T,
    /// The value of the lanes below the calling lane; unspecified in the first lane.
    below: T,
    /// The warps before the calling one's.
    before: Option<T>,
    /// Each warp.
    warps: &'s [T],
}

impl<T: Copy> Scanned<'_, T> {
    #[inline(always)]
    fn exclusive(&self, first: T, combine: impl Fn(T, T) -> T) -> T {
        match (self.before, warp::lane_id()) {
            (None, 0) => first,
            (None, _) => self.below,
            (Some(before), 0) => before,
            (Some(before), _) => combine(before, self.below),
        }
    }
}

impl<T: Element + Sum> BlockScratch<'_, T> {
    /// The sum of the values of the threads up to and with the calling one; integers wrap around. See
    /// [`inclusive_scan`](Self::inclusive_scan).
    #[inline(always)]
    #[must_use]
    pub fn inclusive_sum(&mut self, value: T) -> T {
        self.inclusive_scan(value, T::plus)
    }

    /// The sum of the values of the threads before the calling one; integers wrap around. See
    /// [`exclusive_scan`](Self::exclusive_scan).
    #[inline(always)]
    #[must_use]
    pub fn exclusive_sum(&mut self, value: T) -> T {
        self.exclusive_scan(value, T::ZERO, T::plus)
    }

    /// The sum of the values of the threads before the calling one, and the sum of those of all threads; integers wrap around.
    ///
    /// For what each thread has a varying number of: its first place, and how many places the block takes.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// Puts the even numbers of `x` into `even`, in their order, and their number behind them. For one block.
    /// #[kernel]
    /// pub fn keep_even(x: &[u32], even: &[Atomic<u32>], mut block: BlockScratch<u32>) {
    ///     let (threads, thread) = (thread::block_dim_x() as usize, thread::thread_idx_x() as usize);
    ///     let mut kept = 0;
    ///     for tile in 0..x.len().div_ceil(threads) {
    ///         let own = x.get(tile * threads + thread).filter(|x| *x % 2 == 0);
    ///         let (before, total) = block.exclusive_sum_with_total(u32::from(own.is_some()));
    ///         if let Some(own) = own {
    ///             even[(kept + before) as usize].store(*own);
    ///         }
    ///         kept += total;
    ///     }
    ///     if thread == 0 {
    ///         even[kept as usize].store(kept);
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let x: Vec<u32> = (0..500).map(|i| i * i / 3).collect();
    /// let mut even = [0; 501];
    /// examples::launch((1, 80), keep_even(&x, &mut even));
    /// let expected: Vec<u32> = x.iter().copied().filter(|x| x % 2 == 0).collect();
    /// assert_eq!(even[..expected.len()], expected);
    /// assert_eq!(even[expected.len()] as usize, expected.len());
    /// # }
    /// ```
    ///
    /// As [`exclusive_scan`](Self::exclusive_scan).
    #[inline(always)]
    #[must_use]
    pub fn exclusive_sum_with_total(&mut self, value: T) -> (T, T) {
        let scanned = self.scan(value, T::plus);
        let total = scanned.warps.iter().copied().fold(T::ZERO, T::plus);
        (scanned.exclusive(T::ZERO, T::plus), total)
    }
}

/// Reductions by name.
macro_rules! reductions {
    ($($bound:ident { $($(#[$doc:meta])* $name:ident: $combine:expr;)* })*) => {$(
        impl<T: Element + $bound> BlockScratch<'_, T> {$(
            $(#[$doc])*
            ///
            /// See [`reduce`](Self::reduce); where the code is built for sm_80 or later, of 32-bit integers one `redux.sync`
            /// instead of the shuffles; PTX 7.0.
            #[inline(always)]
            #[must_use]
            pub fn $name(&mut self, value: T) -> T {
                let of_warp = lanes::$name(LanesOfWarp::new(), value);
                self.join(of_warp, $combine)
            }
        )*}
    )*};
}

reductions! {
    Sum {
        /// The sum over the block; every thread gets it. Integers wrap around.
        reduce_sum: T::plus;
    }
    Extreme {
        /// The smallest value of the block; every thread gets it. NaN loses against a number.
        reduce_min: T::smaller;
        /// The largest value of the block; every thread gets it. NaN loses against a number.
        reduce_max: T::larger;
    }
    Bits {
        /// The bits that the values of all threads have; every thread gets them.
        reduce_and: |a, b| a & b;
        /// The bits that the value of any thread has; every thread gets them.
        reduce_or: |a, b| a | b;
        /// The bits that the values of an odd number of threads have; every thread gets them.
        reduce_xor: |a, b| a ^ b;
    }
}
