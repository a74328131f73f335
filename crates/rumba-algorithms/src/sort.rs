//! Radix sort in one sweep for each digit: "Onesweep", Adinets and Merrill 2022 (arXiv 2206.01784).
//!
//! Keys are sorted by one digit of 8 bits after the other, the lowest first, each time keeping the order of equals. One
//! launch counts the digits of all passes. From then on it is known where the keys of each digit go; where those of a tile
//! go among them, blocks tell each other by decoupled look-back: each publishes how many keys of each digit its tile has,
//! and later how many all tiles up to it have. So a pass reads every key once and writes it once.
//!
//! Within a tile each warp finds the keys of equal digits among its 32 by setting bits in shared memory. Keys then change
//! places in shared memory, so that those of a digit are written side by side.
//!
//! Blocks must be started in the order of their numbers, as GPUs do: a block waits for earlier ones only.

#![allow(clippy::needless_range_loop, reason = "indices are numbers of warps and digits")]

use bytemuck::Pod;
use cuda_std::Element;
use cuda_std::algorithms::{Each, Items};
use cuda_std::prelude::*;

/// Values of a digit.
pub const DIGITS: usize = 256;
/// Bits of a digit.
pub const BITS: u32 = 8;
/// Threads of a block.
pub const BLOCK: usize = 512;
/// Warps of a block.
const WARPS: usize = BLOCK / 32;
/// Words of shared memory for a sweep, besides the keys and values of a tile: for each warp the counts of its digits and
/// the lanes that have each, then where each digit's keys go, and sums of digits.
pub const COUNTERS: usize = (2 * WARPS + 2) * DIGITS;

/// A tile's count is in the lower bits.
const OWN: u32 = 1 << 30;
/// The count of all tiles up to this one is in the lower bits.
const ALL: u32 = 2 << 30;
/// The lower bits: a sort has fewer keys than they can count.
pub const MOST_KEYS: usize = OWN as usize - 1;

/// Bits that are sorted as unsigned numbers, and carried along with them.
pub trait Word: Pod + Element {
    /// All ones: as a key, behind every other.
    const LAST: Self;
    /// The digit that starts at a bit.
    fn digit(self, shift: u32) -> usize;
    /// Flips the bits of `flip`, and for numbers whose highest bit is set also those of `negative`; see [`Order`].
    #[must_use]
    fn ordered(self, order: Order<Self>) -> Self;
    /// The inverse of [`ordered`](Self::ordered).
    #[must_use]
    fn restored(self, order: Order<Self>) -> Self;
    /// Writes a cell.
    fn put(cell: &Atomic<Self>, word: Self);
    /// Reads a cell.
    fn take(cell: &Atomic<Self>) -> Self;
}

/// How keys become unsigned numbers of the same order. Signed integers have their highest bit flipped; of floats also all
/// other bits of the negative ones; for the opposite order all are flipped.
#[derive(Clone, Copy)]
pub struct Order<K> {
    /// Bits to flip where the highest is set.
    pub negative: K,
    /// Bits to flip in any case.
    pub flip: K,
}

macro_rules! word {
    ($ty:ident, $signed:ident) => {
        impl Word for $ty {
            const LAST: Self = Self::MAX;

            #[inline(always)]
            fn digit(self, shift: u32) -> usize {
                (self >> shift) as usize % DIGITS
            }

            #[inline(always)]
            fn ordered(self, Order { negative, flip }: Order<Self>) -> Self {
                self ^ ((self as $signed >> (Self::BITS - 1)) as Self & negative) ^ flip
            }

            #[inline(always)]
            fn restored(self, Order { negative, flip }: Order<Self>) -> Self {
                let key = self ^ flip;
                key ^ ((key as $signed >> (Self::BITS - 1)) as Self & negative)
            }

            #[inline(always)]
            fn put(cell: &Atomic<Self>, word: Self) {
                cell.store(word);
            }

            #[inline(always)]
            fn take(cell: &Atomic<Self>) -> Self {
                cell.load()
            }
        }
    };
}

word!(u32, i32);
word!(u64, i64);

/// Adds to `counts[pass][digit]` how many keys have that digit in that pass.
///
/// Launch it in one dimension with any blocks. `counts` has [`DIGITS`] elements for each digit of a key, `local` a multiple
/// of that: so many copies, of which neighbouring lanes use different ones.
#[kernel(K = [u32, u64], max_threads = BLOCK)]
pub fn sort_counts<K: Word>(
    keys: &[K],
    negative: K,
    flip: K,
    counts: &[Atomic<u32>],
    mut local: SharedSlice<Atomic<u32>>,
) {
    let passes = size_of::<K>();
    local.part().each(|_, count| *count.get_mut() = 0);
    let view = local.sync();
    let shared = view.get();
    let copies = shared.len() / (passes * DIGITS);
    let copy = warp::lane_id() as usize % copies;
    let order = Order { negative, flip };
    let count = |key: K| {
        let key = key.ordered(order);
        for pass in 0..size_of::<K>() {
            let digit = key.digit(BITS * pass as u32);
            if let Some(count) = shared.get((pass * DIGITS + digit) * copies + copy) {
                count.fetch_add(1);
            }
        }
    };
    const AHEAD: usize = 4;
    let step = gridsize::<1>()[0];
    let mut i = grid::<1>().get();
    while i + (AHEAD - 1) * step < keys.len() {
        let ahead: [K; AHEAD] = core::array::from_fn(|k| keys[i + k * step]);
        ahead.iter().for_each(|key| count(*key));
        i += AHEAD * step;
    }
    while i < keys.len() {
        count(keys[i]);
        i += step;
    }
    sync_threads();
    let mut place = thread::thread_idx_x() as usize;
    while place < passes * DIGITS {
        let sum = shared[place * copies..][..copies].iter().map(Atomic::<u32>::load).fold(0, u32::wrapping_add);
        counts[place].fetch_add(sum);
        place += thread::block_dim_x() as usize;
    }
}

/// Each pass's counts become the numbers of keys with lower digits: where the keys of each digit start.
///
/// Launch a block of [`DIGITS`] threads for each pass.
#[kernel(block = DIGITS)]
pub fn sort_starts(counts: &[Atomic<u32>], mut warps: Shared<PerWarp<u32>>) {
    let place = &counts[grid::<1>().get()];
    let count = place.load();
    let upto = warp::inclusive_sum(count);
    let of_warp = warp::shuffle(upto, warp::WARP_SIZE - 1);
    if let Some(own) = warps.own() {
        *own = of_warp;
    }
    let warps = warps.sync();
    let earlier = warps[..warp::warp_id() as usize].iter().sum::<u32>();
    place.store(earlier + upto - count);
}

/// Takes each key to its place in the order by the digit that starts at the bit `shift`; keys of the same digit keep their
/// order.
///
/// Launch it in one dimension with a block for each tile, of `N` times [`BLOCK`] keys. `starts` has where each digit's keys
/// start, `states` has [`DIGITS`] elements for each block, all zero. `counters` has [`COUNTERS`] elements, `exchange` those of
/// a tile. Keys are brought into order by `negative` and `flip`, and restored by `negative_out` and `flip_out`.
#[kernel((K, N) = [(u32, 19), (u64, 10)], block = BLOCK, min_blocks = 2)]
pub fn sort_keys<K: Word, const N: usize>(
    keys: &[K],
    negative: K,
    flip: K,
    sorted: &[Atomic<K>],
    negative_out: K,
    flip_out: K,
    shift: u32,
    starts: &[Atomic<u32>],
    states: &[Atomic<u32>],
    counters: SharedSlice<Atomic<u32>>,
    exchange: SharedSlice<Atomic<K>>,
) where
    Items: Each<N>,
{
    sweep::<K, N>(
        keys,
        [(negative, flip), (negative_out, flip_out)],
        sorted,
        shift,
        starts,
        states,
        counters,
        exchange,
    );
}

/// [`sort_keys`] with a value for each key, which goes where the key goes. `exchange_values` has the elements of a tile.
#[kernel((K, V, N) = [(u32, u32, 19), (u32, u64, 12), (u64, u32, 10), (u64, u64, 9)], block = BLOCK, min_blocks = 2)]
pub fn sort_pairs<K: Word, V: Word, const N: usize>(
    keys: &[K],
    negative: K,
    flip: K,
    sorted: &[Atomic<K>],
    negative_out: K,
    flip_out: K,
    shift: u32,
    starts: &[Atomic<u32>],
    states: &[Atomic<u32>],
    values: &[V],
    sorted_values: &[Atomic<V>],
    counters: SharedSlice<Atomic<u32>>,
    exchange: SharedSlice<Atomic<K>>,
    exchange_values: SharedSlice<Atomic<V>>,
) where
    Items: Each<N>,
{
    let first = first_item::<N>();
    let own: [V; N] = Items::each(|k| values.get(first + 32 * k).copied().unwrap_or_else(V::zeroed));
    let (ranks, places) = sweep::<K, N>(
        keys,
        [(negative, flip), (negative_out, flip_out)],
        sorted,
        shift,
        starts,
        states,
        counters,
        exchange,
    );

    let exchange = exchange_values.sync();
    let exchange = exchange.get();
    Items::each(|k| {
        if let Some(cell) = exchange.get(ranks[k] as usize) {
            V::put(cell, own[k]);
        }
    });
    sync_threads();
    Items::each(|i| {
        let rank = i * BLOCK + thread::thread_idx_x() as usize;
        if let (Some(cell), Some(place)) = (exchange.get(rank), sorted_values.get(places[i] as usize)) {
            V::put(place, V::take(cell));
        }
    });
}

/// The index of the thread's first item: a warp has a row of them, 32 at a time.
#[inline(always)]
fn first_item<const N: usize>() -> usize {
    let warp = thread::block_idx_x() as usize * WARPS + warp::warp_id() as usize;
    warp * N * 32 + warp::lane_id() as usize
}

/// The sweep of a tile. Says for each of the thread's items where it is in the tile's order, and for each of the order's
/// elements that the thread has written where it went: elements that are a block apart; beyond all there are, for those
/// that the last tile lacks.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn sweep<K: Word, const N: usize>(
    keys: &[K],
    orders: [(K, K); 2],
    sorted: &[Atomic<K>],
    shift: u32,
    starts: &[Atomic<u32>],
    states: &[Atomic<u32>],
    mut counters: SharedSlice<Atomic<u32>>,
    exchange: SharedSlice<Atomic<K>>,
) -> ([u32; N], [u32; N])
where
    Items: Each<N>,
{
    let [order, order_out] = orders.map(|(negative, flip)| Order { negative, flip });
    let (thread, lane, number) = (thread::thread_idx_x() as usize, warp::lane_id(), warp::warp_id() as usize);
    let tile = thread::block_idx_x() as usize;
    let (tile_start, first) = (tile * N * BLOCK, first_item::<N>());
    let own: [K; N] = if tile_start + N * BLOCK <= keys.len() {
        // SAFETY: the whole tile is inside.
        Items::each(|k| unsafe { keys.get_unchecked(first + 32 * k) }.ordered(order))
    } else {
        // In a partial tile the missing items are `K::LAST`, which sorts behind every key.
        Items::each(|k| keys.get(first + 32 * k).map_or(K::LAST, |key| key.ordered(order)))
    };
    counters.part().each(|_, counter| *counter.get_mut() = 0);
    let (counters, exchange) = (counters.sync(), exchange.sync());
    let exchange = exchange.get();
    let (rows, _) = counters.as_chunks::<DIGITS>();
    let (Some((tables, rows)), Some(states)) =
        (rows.split_at_checked(WARPS), states.as_chunks::<DIGITS>().0.get(..=tile))
    else {
        return ([0; N], [0; N]);
    };
    let (Some((masks, [offsets, sums])), Some(starts)) = (rows.split_at_checked(WARPS), starts.first_chunk::<DIGITS>())
    else {
        return ([0; N], [0; N]);
    };
    let (Some(table), Some(mask)) = (tables.get(number), masks.get(number)) else {
        return ([0; N], [0; N]);
    };

    // How many keys of each digit each warp has, and before it the warps before.
    Items::each(|k| table[own[k].digit(shift)].fetch_add(1));
    sync_threads();
    let mut of_digit = 0;
    let mut before_warp = [0; WARPS];
    if thread < DIGITS {
        let counts: [u32; WARPS] = <Items as Each<WARPS>>::each(|warp| tables[warp][thread].load());
        <Items as Each<WARPS>>::each(|warp| {
            before_warp[warp] = of_digit;
            of_digit += counts[warp];
        });
        states[tile][thread].store(if tile == 0 { ALL } else { OWN } | of_digit);
    }
    let upto = warp::inclusive_sum(of_digit);
    if lane == warp::WARP_SIZE - 1 {
        sums[number].store(upto);
    }
    sync_threads();
    // Where the tile's keys of the thread's digit start in the tile's order.
    let mut start = upto - of_digit;
    if thread < DIGITS {
        for earlier in 0..DIGITS / 32 {
            start += if earlier < number { sums[earlier].load() } else { 0 };
        }
        <Items as Each<WARPS>>::each(|warp| tables[warp][thread].store(start + before_warp[warp]));
    }
    sync_threads();

    let ranks = Items::each(|k| {
        let digit = own[k].digit(shift);
        mask[digit].fetch_or(1 << lane);
        warp::sync_warp(warp::FULL_MASK);
        let equals = mask[digit].load();
        let leader = warp::WARP_SIZE - 1 - equals.leading_zeros();
        let mut place = 0;
        if lane == leader {
            place = table[digit].fetch_add(equals.count_ones());
        }
        let place = warp::shuffle(place, leader);
        if lane == leader {
            mask[digit].store(0);
        }
        warp::sync_warp(warp::FULL_MASK);
        let rank = place + (equals & warp::lane_mask_lt()).count_ones();
        if let Some(cell) = exchange.get(rank as usize) {
            K::put(cell, own[k]);
        }
        rank
    });

    if thread < DIGITS {
        let before = look_back(states, tile, thread);
        if tile > 0 {
            states[tile][thread].store(ALL | (before + of_digit));
        }
        let offset = starts[thread].load().wrapping_add(before).wrapping_sub(start);
        offsets[thread].store(offset);
    }
    sync_threads();

    let places = Items::each(|i| {
        let rank = i * BLOCK + thread;
        let Some(cell) = exchange.get(rank) else {
            return u32::MAX;
        };
        let key = K::take(cell);
        let place = offsets[key.digit(shift)].load().wrapping_add(rank as u32);
        if tile_start + rank >= keys.len() {
            return u32::MAX;
        }
        if let Some(cell) = sorted.get(place as usize) {
            K::put(cell, key.restored(order_out));
        }
        place
    });
    (ranks, places)
}

/// How many keys of a digit the tiles before have.
#[inline(always)]
fn look_back(states: &[[Atomic<u32>; DIGITS]], tile: usize, digit: usize) -> u32 {
    /// States that are asked for at once.
    const WINDOW: usize = 4;
    let mut before = 0;
    let mut at = tile;
    while at > 0 {
        let window: [u32; WINDOW] =
            core::array::from_fn(|i| if at > i { states[at - 1 - i][digit].load() } else { ALL });
        for state in window {
            if state < OWN {
                break;
            }
            before += state % OWN;
            if state >= ALL {
                return before;
            }
            at -= 1;
        }
    }
    before
}
