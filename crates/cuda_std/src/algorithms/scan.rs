//! The scan of a slice by one launch, which reads every element once and writes every result once.
//!
//! The blocks run all at once and go over the slice in rounds: in each, every block has a tile. It combines the tile by
//! itself and publishes the result; what is before its tile is what was before the round and the results of the blocks
//! before it. Everybody reads everybody's results, so no block waits for another to wait for a third, as in a chain.
//! Results take a while to arrive. Until they are needed, some rounds later, a tile waits in shared memory; the tile after
//! it is on its way meanwhile. In decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with
//! Decoupled Look-back") blocks read many states again and again instead.

use bytemuck::Pod;

use super::{Operator, combine, from_words, words};
use crate::atomic::Atomic;
use crate::shared::{Alternating, PerWarp, Shared, SharedSlice};
use crate::slice::DisjointRounds;
use crate::thread::{block_idx_x, grid_dim_x, thread_idx_x};
use crate::vector::Vector4;
use crate::warp::{self, WARP_SIZE};

/// The most threads of a block, for vectors of `vector` elements. More would have too few registers: what does not fit
/// goes to memory that shared memory leaves no cache for, and a scan takes three times as long.
#[must_use]
pub const fn block(vector: usize) -> usize {
    if vector >= 4 { 768 } else { 512 }
}

/// Vectors of a thread in each round.
pub const VECTORS: usize = 4;

/// Rounds that a tile waits for the results of other blocks.
const HELD: usize = 2;

/// Tiles of a block in shared memory: those that are held, and the one that is at work.
pub const SLOTS: usize = HELD + 1;

/// Rounds whose results are kept. No block is further ahead of another than the rounds that are held, and one; whoever
/// reads is behind by as many again.
pub const RING: usize = 8;

/// Combines each element of `x` with all before it: `y[i]` is the combination of `x[0]` to `x[i]`; or, if `is_exclusive`, of
/// `initial` and `x[0]` to `x[i - 1]`. The order is kept.
///
/// A launch is 1-D and cooperative, with blocks of [`block`] threads at most, and not more blocks than a block has threads. `published` has for each block and
/// each of [`RING`] rounds as many elements as a value has words of 32 bits, all zero. `held` has [`SLOTS`] times
/// [`VECTORS`] elements for each thread. `V` elements are 16 bytes.
#[inline(always)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub fn scan<T: Pod, O: Operator<T>, const V: usize>(
    x: &[T],
    initial: T,
    is_exclusive: bool,
    mut y: DisjointRounds<T, VECTORS, V>,
    published: &[Atomic<u64>],
    mut held: SharedSlice<Vector4<u32>>,
    sums: Shared<(PerWarp<[T; VECTORS]>, PerWarp<[T; VECTORS]>)>,
    parts: Shared<(PerWarp<[T; 2]>, PerWarp<[T; 2]>)>,
) where
    [T; V]: Pod,
{
    let (mut sums, mut parts) = (sums.alternate(), parts.alternate());
    let rounds = y.rounds();
    // Of everything before the round that is finished next.
    let mut before = is_exclusive.then_some(initial);
    let mut next = y.load(x, 0);
    // Of the rounds that are held: what is before each of the thread's vectors in the tile.
    let mut starts = [[T::zeroed(); VECTORS]; HELD];
    for round in 0..rounds + HELD {
        let mut start = [T::zeroed(); VECTORS];
        if round < rounds {
            let mut last = [T::zeroed(); VECTORS];
            for (k, vector) in next.iter().enumerate() {
                let mut vector = *vector;
                for j in 1..V {
                    vector[j] = O::combine(vector[j - 1], vector[j]);
                }
                last[k] = vector[V - 1];
                if let Some(place) = held.part().get_mut(round % SLOTS * VECTORS + k) {
                    *place = Vector4(bytemuck::cast(vector));
                }
            }
            next = y.load(x, round + 1);
            start = scan_tile::<T, O>(last, &mut sums, |whole| publish(published, round, &whole));
        }
        if round >= HELD {
            let base = finish::<T, O>(round - HELD, &mut before, published, &mut parts);
            let mut part = held.part();
            let tile = core::array::from_fn(|k| {
                let vector = part
                    .get_mut((round - HELD) % SLOTS * VECTORS + k)
                    .copied()
                    .unwrap_or_default();
                let vector: [T; V] = bytemuck::cast(vector.0);
                let start = (k > 0 || thread_idx_x() > 0).then_some(starts[0][k]);
                let start = combine::<T, O>(base, start);
                core::array::from_fn(|j| match (is_exclusive, j) {
                    (true, 0) => start.unwrap_or(initial),
                    (true, _) => combine::<T, O>(start, Some(vector[j - 1])).unwrap_or(initial),
                    (false, _) => combine::<T, O>(start, Some(vector[j])).unwrap_or(initial),
                })
            });
            y.store(round - HELD, tile);
        }
        starts = core::array::from_fn(|i| if i + 1 < HELD { starts[i + 1] } else { start });
    }
}

/// What is before each of the thread's vectors in the tile, of which `last` are the combinations; meaningless for the first
/// vector of the first thread. The whole tile's is published as soon as it is known.
#[inline(always)]
fn scan_tile<T: Pod, O: Operator<T>>(
    last: [T; VECTORS],
    sums: &mut Alternating<PerWarp<[T; VECTORS]>>,
    publish: impl FnOnce(T),
) -> [T; VECTORS] {
    let (lane, number, warps) = (warp::lane_id(), warp::warp_id(), warp::warps_in_block());
    let lanes = last.map(|value| warp::inclusive_scan(value, O::combine));
    let of_warp = lanes.map(|upto| warp::shuffle(upto, WARP_SIZE - 1));
    if let Some(own) = sums.back() {
        *own = of_warp;
    }
    sums.swap();

    // The order of elements is row by row, a vector of each thread, and in a row warp by warp. Each lane has a warp.
    let of_warps = if lane < warps {
        sums.front()[lane as usize]
    } else {
        of_warp
    };
    let upto = of_warps.map(|value| warp::inclusive_scan(value, O::combine));
    let mut rows = [None; VECTORS];
    let mut whole = None;
    for (row, upto) in rows.iter_mut().zip(upto) {
        *row = whole;
        whole = combine::<T, O>(whole, Some(warp::shuffle(upto, warps - 1)));
    }
    if thread_idx_x() == 0
        && let Some(whole) = whole
    {
        publish(whole);
    }
    core::array::from_fn(|k| {
        let warps = warp::shuffle(upto[k], number.wrapping_sub(1) % WARP_SIZE);
        let lanes = warp::shuffle_up(lanes[k], 1);
        let start = combine::<T, O>(rows[k], (number > 0).then_some(warps));
        combine::<T, O>(start, (lane > 0).then_some(lanes)).unwrap_or(lanes)
    })
}

/// What is before the block's tile of a round, once all blocks have published theirs; `before` the round becomes before the
/// next.
#[inline(always)]
fn finish<T: Pod, O: Operator<T>>(
    round: usize,
    before: &mut Option<T>,
    published: &[Atomic<u64>],
    parts: &mut Alternating<PerWarp<[T; 2]>>,
) -> Option<T> {
    let (lane, number, thread) = (warp::lane_id(), warp::warp_id(), thread_idx_x());
    let (block, blocks) = (block_idx_x(), grid_dim_x());
    // Each thread has a block, and each warp finds the whole of its blocks, and what is before this block among them.
    if number * WARP_SIZE < blocks {
        let value = if thread < blocks {
            wait(published, round, thread as usize)
        } else {
            T::zeroed()
        };
        let upto = warp::inclusive_scan(value, O::combine);
        let last = (blocks - 1 - number * WARP_SIZE).min(WARP_SIZE - 1);
        let both = [
            warp::shuffle(upto, last),
            warp::shuffle(upto, block.wrapping_sub(1) % WARP_SIZE),
        ];
        if let Some(own) = parts.back() {
            *own = both;
        }
    }
    parts.swap();
    let (groups, group) = (blocks.div_ceil(WARP_SIZE), block / WARP_SIZE);
    let front = parts.front();
    let upto = warp::inclusive_scan(front[lane.min(groups - 1) as usize][0], O::combine);
    let earlier = warp::shuffle(upto, group.wrapping_sub(1) % WARP_SIZE);
    let start = combine::<T, O>(*before, (group > 0).then_some(earlier));
    let start = combine::<T, O>(
        start,
        (!block.is_multiple_of(WARP_SIZE)).then(|| front[group as usize][1]),
    );
    *before = combine::<T, O>(*before, Some(warp::shuffle(upto, groups - 1)));
    start
}

/// Makes a block's whole known: each word with the number of its round, which starts at 1, so that word and number arrive
/// together and nothing else needs an order.
#[inline(always)]
fn publish<T: Pod>(published: &[Atomic<u64>], round: usize, whole: &T) {
    let first = place::<T>(round, block_idx_x() as usize);
    for (place, word) in published[first..].iter().zip(words(whole)) {
        place.store((round as u64 + 1) << 32 | u64::from(*word));
    }
}

/// What a block has published in a round, once it has.
#[inline(always)]
fn wait<T: Pod>(published: &[Atomic<u64>], round: usize, block: usize) -> T {
    let first = place::<T>(round, block);
    from_words(|i| {
        loop {
            let word = published[first + i].load();
            if word >> 32 == round as u64 + 1 {
                return word as u32;
            }
        }
    })
}

#[inline(always)]
fn place<T>(round: usize, block: usize) -> usize {
    (round % RING * grid_dim_x() as usize + block) * (size_of::<T>() / 4)
}
