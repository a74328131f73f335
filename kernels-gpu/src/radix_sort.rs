//! Radix sort: keys are sorted by one digit after the other, the lowest first, each time keeping the order of equals.
//!
//! A step sorts by one digit of 8 bits in three launches. Each block counts the digits of its tile; a [`scan`](crate::scan)
//! over the counts of all blocks, digit by digit, tells where each block's keys of each digit go; then each block takes
//! its keys there. Where a key goes within its block is found by asking: which lanes of the warp have the same digit
//! (`match.any`), how many keys of that digit did the warp have before, and how many did the warps before it have.
//!
//! Keys end up anywhere, so the output is [`Atomic`]: no two threads write the same element if the counts are right, and
//! if not, the result is wrong but memory is safe.
//!
//! This is the classical sort, which is made of a scan: Satish, Harris and Garland, "Designing Efficient Sorting Algorithms for
//! Manycore GPUs" (IPDPS 2009), with `match.any` as in CUB. The library's, in `crates/rumba-algorithms/src/sort.rs`, is Onesweep:
//! one launch for each digit, in which blocks look back at what the blocks before them have counted.

use cuda_std::algorithms::{Each, Items};
use cuda_std::prelude::*;

/// Values of a digit, and threads of a block.
pub const DIGITS: usize = 256;
/// Keys of a thread.
const KEYS: usize = 16;
/// Keys of a block.
pub const TILE: usize = KEYS * DIGITS;
/// How far apart they are.
const STEP: usize = warp::WARP_SIZE as usize;
/// Warps of a block.
const WARPS: usize = DIGITS / warp::WARP_SIZE as usize;

/// The digit that starts at the bit `shift`.
fn digit(key: u32, shift: u32) -> usize {
    ((key >> shift) & (DIGITS as u32 - 1)) as usize
}

/// The results of `f` for each of the thread's keys.
fn each_key<R>(f: impl FnMut(usize) -> R) -> [R; KEYS] {
    Items::each(f)
}

/// The index of the thread's first key: a warp has a row of keys, 32 at a time.
fn first_key() -> usize {
    let warp = thread::block_idx_x() as usize * WARPS + warp::warp_id() as usize;
    warp * KEYS * STEP + warp::lane_id() as usize
}

/// `counts[digit][block]` is how many keys of the block's tile have the digit that starts at the bit `shift`.
///
/// Launch it in one dimension with blocks of [`DIGITS`] threads, one for each [`TILE`] keys. `counts` has [`DIGITS`]
/// elements for each block.
#[kernel(block = DIGITS)]
pub fn radix_count(keys: &[u32], shift: u32, counts: &[Atomic<u32>], mut local: Shared<Tile<Atomic<u32>, DIGITS>>) {
    *local.own().get_mut() = 0;
    let shared = local.sync();
    let first = first_key();
    let own_keys = each_key(|k| keys.get(first + STEP * k).copied().unwrap_or(0));
    each_key(|k| {
        if first + STEP * k < keys.len() {
            shared[digit(own_keys[k], shift)].fetch_add(1);
        }
    });
    let mut local = shared.sync();
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    counts[thread::thread_idx_x() as usize * blocks + block].store(*local.own().get_mut());
}

/// Takes each key to its place in the order by the digit that starts at the bit `shift`; keys of the same digit keep their
/// order.
///
/// `ends` is the inclusive scan of what [`radix_count`] counted. Launch it in the same way. `sorted` is as long as `keys`.
#[kernel(block = DIGITS)]
pub fn radix_scatter(
    keys: &[u32],
    shift: u32,
    ends: &[u32],
    sorted: &[Atomic<u32>],
    mut tables: Shared<Tile<Atomic<u32>, { WARPS * DIGITS }>>,
) {
    for (_, own) in tables.own_strided() {
        *own.get_mut() = 0;
    }
    let counts = tables.sync();

    // Each warp counts its keys in a table of its own, and so learns how many equal digits were before each key.
    let table = &counts[warp::warp_id() as usize * DIGITS..][..DIGITS];
    let first = first_key();
    let own_keys = each_key(|k| keys.get(first + STEP * k).copied().unwrap_or(0));
    let is_there = |k: usize| first + STEP * k < keys.len();
    let ranks = each_key(|k| {
        let digit = digit(own_keys[k], shift);
        // Lanes without a key share a digit that no key has.
        let equals = warp::match_any_sync(warp::FULL_MASK, if is_there(k) { digit as u32 } else { DIGITS as u32 });
        let leader = equals.trailing_zeros();
        let mut before = 0;
        if warp::lane_id() == leader && is_there(k) {
            before = table[digit].fetch_add(equals.count_ones());
        }
        warp::shuffle(before, leader) + (equals & warp::lane_mask_lt()).count_ones()
    });

    // A thread has the counts of one digit, warp by warp. They become places: first those of the keys of lower digits in
    // all blocks and of this digit in earlier blocks, then those of earlier warps.
    let mut tables = counts.sync();
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let at = thread::thread_idx_x() as usize * blocks + block;
    let mut place = if at > 0 { ends[at - 1] } else { 0 };
    for (_, own) in tables.own_strided() {
        let own = own.get_mut();
        (*own, place) = (place, place + *own);
    }
    let starts = tables.sync();

    let table = &starts[warp::warp_id() as usize * DIGITS..][..DIGITS];
    each_key(|k| {
        if is_there(k) {
            let place = table[digit(own_keys[k], shift)].load() + ranks[k];
            // There is a place for each key; asking costs less than a panic in each of sixteen steps.
            if let Some(place) = sorted.get(place as usize) {
                place.store(own_keys[k]);
            }
        }
    });
}
