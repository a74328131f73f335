//! Histograms: each block counts in shared memory, in as many copies of the bins as fit, and adds its counts at the end.
//!
//! Copies of a bin lie side by side, and neighbouring lanes use different ones. So lanes that count at once hit different
//! banks of shared memory, whatever they count.

use bytemuck::Pod;
use cuda_std::algorithms::for_each;
use cuda_std::prelude::*;

/// Threads of a block.
pub const BLOCK: usize = 512;

/// Numbers that fall into bins of equal width.
pub trait Level: Pod {
    /// The parameters of the bins, computed once for all numbers.
    type Bins: Copy;
    /// `bins` bins of equal width from `lower` to below `upper`.
    fn bins(bins: u32, lower: Self, upper: Self) -> Self::Bins;
    /// The bin of a number: the whole part of `(self - lower) * bins / (upper - lower)`.
    fn bin(self, bins: Self::Bins) -> Option<u32>;
}

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Level for $ty {
            /// Bins, the lower and the upper end, and bins for each unit.
            type Bins = (u32, $ty, $ty, $ty);

            #[inline(always)]
            fn bins(bins: u32, lower: $ty, upper: $ty) -> Self::Bins {
                (bins, lower, upper, bins as $ty / (upper - lower))
            }

            #[inline(always)]
            fn bin(self, (bins, lower, upper, scale): Self::Bins) -> Option<u32> {
                let bin = ((self - lower) * scale) as u32;
                // Rounding may reach the upper end.
                (self >= lower && self < upper).then(|| bin.min(bins - 1))
            }
        }
    )*};
}

floats!(f32 f64);

macro_rules! integers {
    ($($ty:ident as $unsigned:ident, $wide:ident;)*) => {$(
        impl Level for $ty {
            /// Bins, the lower end, the width of all bins, and an estimate of bins for each unit.
            type Bins = ($unsigned, $ty, $unsigned, f64);

            #[inline(always)]
            fn bins(bins: u32, lower: $ty, upper: $ty) -> Self::Bins {
                let range = upper.wrapping_sub(lower) as $unsigned;
                (bins as $unsigned, lower, range, f64::from(bins) / range as f64)
            }

            #[inline(always)]
            fn bin(self, (bins, lower, range, scale): Self::Bins) -> Option<u32> {
                let above = self.wrapping_sub(lower) as $unsigned;
                if self < lower || above >= range {
                    return None;
                }
                // Exact without a division: the estimate is off by less than 2^-50 of the number of bins, so by one at most.
                let exact = above as $wide * bins as $wide;
                let estimate = (above as f64 * scale) as $unsigned;
                let bin = estimate - $unsigned::from(estimate as $wide * range as $wide > exact);
                let bin = bin + $unsigned::from((bin as $wide + 1) * range as $wide <= exact);
                Some(bin as u32)
            }
        }
    )*};
}

integers! {
    u32 as u32, u64;
    i32 as u32, u64;
    u64 as u64, u128;
    i64 as u64, u128;
}

/// Numbers that are bins themselves.
pub trait Value: Pod {
    /// The number.
    fn value(self) -> u32;
}

macro_rules! values {
    ($($ty:ident)*) => {$(
        impl Value for $ty {
            #[inline(always)]
            fn value(self) -> u32 {
                u32::from(self)
            }
        }
    )*};
}

values!(u8 u16 u32);

/// Adds to `counts[i]` how many elements of `x` are in bin `i` of as many bins as there are counts, of equal width, from
/// `lower` to below `upper`.
///
/// Launch it in one dimension with any blocks. `local` has a power of two, up to 32, of elements for each bin, or none:
/// then all count in global memory.
#[kernel((T, V) = [(u32, 4), (i32, 4), (f32, 4), (u64, 2), (i64, 2), (f64, 2)], max_threads = BLOCK)]
pub fn histogram_even<T: Level, const V: usize>(
    x: &[T],
    lower: T,
    upper: T,
    counts: &[Atomic<u32>],
    local: SharedSlice<Atomic<u32>>,
) {
    let bins = T::bins(counts.len() as u32, lower, upper);
    count::<T, V>(x, counts, local, |x| x.bin(bins));
}

/// Adds to `counts[i]` how many elements of `x` are `i`. Launch it as [`histogram_even`].
#[kernel((T, V) = [(u8, 16), (u16, 8), (u32, 4)], max_threads = BLOCK)]
pub fn histogram_values<T: Value, const V: usize>(x: &[T], counts: &[Atomic<u32>], local: SharedSlice<Atomic<u32>>) {
    count::<T, V>(x, counts, local, |x| Some(x.value()));
}

/// Counts each element where `bin` says.
#[inline(always)]
fn count<T: Pod, const V: usize>(
    x: &[T],
    counts: &[Atomic<u32>],
    mut local: SharedSlice<Atomic<u32>>,
    bin: impl Fn(T) -> Option<u32>,
) {
    local.part().each(|_, count| *count.get_mut() = 0);
    let shared = local.sync();
    let shared = shared.get();
    let copies = shared.len().checked_div(counts.len()).unwrap_or(0);
    if copies == 0 {
        for_each::<T, V>(x, |x| {
            if let Some(count) = bin(x).and_then(|bin| counts.get(bin as usize)) {
                count.fetch_add(1);
            }
        });
        return;
    }
    // A shift: the number of copies is a power of two. Numbers of 32 bits: others would double what an element costs.
    let (bins, shift, copy) = (counts.len() as u32, copies.trailing_zeros(), warp::lane_id() % copies as u32);
    for_each::<T, V>(x, |x| {
        if let Some(bin) = bin(x)
            && bin < bins
        {
            // SAFETY: less than `bins * copies`, which is at most the length: 2 to the power of `shift` divides `copies`.
            unsafe { shared.get_unchecked(((bin << shift) + copy) as usize) }.fetch_add(1);
        }
    });
    sync_threads();
    let mut bin = thread::thread_idx_x() as usize;
    while bin < counts.len() {
        let first = bin << shift;
        // Each lane starts with another copy, and so with another bank.
        let sum = (0..copies).map(|i| shared[first + (i + copy as usize) % copies].load()).fold(0, u32::wrapping_add);
        if sum > 0 {
            counts[bin].fetch_add(sum);
        }
        bin += thread::block_dim_x() as usize;
    }
}
