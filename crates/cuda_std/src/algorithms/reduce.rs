//! The reduction of a slice by one launch: blocks reduce what the grid gives them, and the last to be done their results.

use core::sync::atomic::Ordering::AcqRel;

use bytemuck::Pod;

use super::{Operator, from_words, words};
use crate::array::output::Words;
use crate::collective::warp::{self, WARP_SIZE};
use crate::device::sync::sync_threads_or;
use crate::device::thread::{block_dim_x, block_idx_x, grid_dim_x, thread_idx_x};
use crate::mem::atomic::Atomic;
use crate::mem::shared::{PerWarp, Shared};

/// Threads of a block.
pub const BLOCK: usize = 512;

/// Vectors that a thread asks for before it needs the first.
const AHEAD: usize = 4;

/// Where the results of a block's warps meet: each has one, or none.
type Warps<'l, T> = Shared<'l, (PerWarp<T>, PerWarp<u32>)>;

/// The value of a thread, if any, otherwise some unused value. Not an `Option`, whose payload the optimiser leaves
/// undefined for `None`, while lanes exchange the payload in any case.
#[derive(Clone, Copy)]
struct Maybe<T> {
    value: T,
    is_there: bool,
}

impl<T: Pod> Maybe<T> {
    #[inline(always)]
    fn none() -> Self {
        Self { value: T::zeroed(), is_there: false }
    }

    #[inline(always)]
    fn some(value: T) -> Self {
        Self { value, is_there: true }
    }

    #[inline(always)]
    fn and<O: Operator<T>>(self, other: Self) -> Self {
        Self {
            value: match (self.is_there, other.is_there) {
                (true, true) => O::combine(self.value, other.value),
                (true, false) => self.value,
                (false, _) => other.value,
            },
            is_there: self.is_there || other.is_there,
        }
    }
}

/// Reduces `x`, which is not empty, and puts the result into `result`, in words of 32 bits.
///
/// A launch is 1-D, with blocks of [`BLOCK`] threads, and not more of them than have a whole vector of `V` elements for
/// their first thread; one in any case. `V` elements are 16 bytes. `work` has the words of a value for each block behind
/// the first word, which is zero, and is zero again afterwards.
///
/// Every element is read once. Blocks publish their results and count themselves; the one that counts last reads all
/// results, so that no second launch is needed.
#[inline(always)]
pub fn reduce<T: Pod, O: Operator<T>, const V: usize>(
    x: &[T],
    work: &[Atomic<u32>],
    result: &[Atomic<u32>],
    warps: Warps<T>,
) {
    let (block, blocks) = (block_idx_x() as usize, grid_dim_x() as usize);
    let Some((counter, partial)) = work.split_first() else {
        return;
    };
    let size = size_of::<T>() / 4;

    let (whole, warps) = reduce_block::<T, O>(of_thread::<T, O, V>(x), warps);
    let mut is_last = false;
    if thread_idx_x() == 0 {
        for (place, word) in partial[block * size..].iter().zip(words(&whole.value)) {
            place.store(*word);
        }
        // Releases the partial result of this block, and acquires the partial results of earlier blocks.
        is_last = counter.device().fetch_add(1, AcqRel) as usize == blocks - 1;
    }
    if !sync_threads_or(is_last) {
        return;
    }

    let mut of_blocks = Maybe::none();
    let mut other = thread_idx_x() as usize;
    while other < blocks {
        let value = from_words(|i| partial[other * size + i].load());
        of_blocks = of_blocks.and::<O>(Maybe::some(value));
        other += block_dim_x() as usize;
    }
    let (whole, _) = reduce_block::<T, O>(of_blocks, warps);
    if thread_idx_x() == 0 {
        for (place, word) in result.iter().zip(words(&whole.value)) {
            place.store(*word);
        }
        counter.store(0);
    }
}

/// The thread's elements combined: vectors that are a grid apart, and the elements before and behind the whole vectors.
#[inline(always)]
fn of_thread<T: Pod, O: Operator<T>, const V: usize>(x: &[T]) -> Maybe<T> {
    const { assert!(V * size_of::<T>() == 16, "`V` elements are 16 bytes") };
    // SAFETY: a vector is an array of elements, with an alignment.
    let (first, vectors, last) = unsafe { x.align_to::<Words<T, V>>() };
    let step = grid_dim_x() as usize * block_dim_x() as usize;
    let start = block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize;
    let of_vector = |vector: Words<T, V>| {
        let mut all = vector.0[0];
        for value in &vector.0[1..] {
            all = O::combine(all, *value);
        }
        all
    };

    let mut all = Maybe::none();
    let mut i = start;
    if i < vectors.len() {
        let mut sum = of_vector(vectors[i]);
        i += step;
        while i + (AHEAD - 1) * step < vectors.len() {
            // SAFETY: at most the last of these, which is inside.
            let ahead: [Words<T, V>; AHEAD] = core::array::from_fn(|k| unsafe { *vectors.get_unchecked(i + k * step) });
            for vector in &ahead {
                sum = O::combine(sum, of_vector(*vector));
            }
            i += AHEAD * step;
        }
        while i < vectors.len() {
            sum = O::combine(sum, of_vector(vectors[i]));
            i += step;
        }
        all = Maybe::some(sum);
    }
    for rest in [first, last] {
        if let Some(value) = rest.get(start) {
            all = all.and::<O>(Maybe::some(*value));
        }
    }
    all
}

/// Combines what the threads of the block have; thread 0 gets it.
#[inline(always)]
fn reduce_block<T: Pod, O: Operator<T>>(value: Maybe<T>, mut warps: Warps<'_, T>) -> (Maybe<T>, Warps<'_, T>) {
    let of_warp = reduce_warp::<T, O>(value);
    if let (Some(value), Some(is_there)) = warps.own() {
        *value = of_warp.value;
        *is_there = u32::from(of_warp.is_there);
    }
    let view = warps.sync();
    let (values, are_there) = view.get();
    let lane = warp::lane_id() as usize;
    let of_lane = if lane < warp::warps_in_block() as usize {
        Maybe { value: values[lane], is_there: are_there[lane] != 0 }
    } else {
        Maybe::none()
    };
    (reduce_warp::<T, O>(of_lane), view.sync())
}

/// Combines what the lanes of the warp have, in the order of the lanes; lane 0 gets it.
#[inline(always)]
fn reduce_warp<T: Pod, O: Operator<T>>(mut own: Maybe<T>) -> Maybe<T> {
    let mut distance = 1;
    while distance < WARP_SIZE {
        let other = Maybe {
            value: warp::shuffle_down(own.value, distance),
            is_there: warp::shuffle_down(u32::from(own.is_there), distance) != 0,
        };
        if warp::lane_id() + distance < WARP_SIZE {
            own = own.and::<O>(other);
        }
        distance *= 2;
    }
    own
}
