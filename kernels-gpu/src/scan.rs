//! Inclusive scan: each element becomes the sum of all up to it, in one pass over memory.
//!
//! Sums that depend on all earlier elements seem to need one thread after the other. A block scans a tile of [`TILE`]
//! elements by itself, and publishes the sum of the whole tile; only then does it need the sum of everything before. It gets
//! that from what others have published, by the library's look-back ([`LookBack`], after Merrill and Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back"). So no block waits for its predecessor to be done, and every element is read
//! once and written once.
//!
//! What takes time is that all of a tile must be there before any of it can be written. So a multiprocessor needs many tiles
//! at a time, on their way or waiting: half of each is in shared memory, and half in registers. And since looks at other
//! blocks' sums queue behind loads, a thread has no more than eight loads under way.
//!
//! The library's scan, [`cuda_std::algorithms::scan`], is for any operator. Sums of integers can be taken apart again, so this
//! one keeps four numbers where that has to keep eight, and half of a tile in registers.

use cuda_std::algorithms::{LookBack, scan_places};
use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// Threads of a block.
pub const BLOCK: usize = 64;
/// Rows of a tile: each thread has a vector of four elements in each row, and loads four rows at a time.
const ROWS: usize = 32;
/// Elements of a block.
pub const TILE: usize = 4 * ROWS * BLOCK;

/// How many elements `published` has, for so many elements of `x`.
#[must_use]
pub const fn places(elements: usize) -> usize {
    scan_places(elements.div_ceil(TILE))
}

/// Nanoseconds before a block first reads the sums of other blocks; most sums are published by then.
const PAUSE: u32 = 3500;

/// Four rows of a tile: the thread's vectors.
type Rows = [[u32; 4]; 4];

/// Half of a tile in shared memory.
type Half = Tile<Vector4<u32>, { ROWS / 2 * BLOCK }>;

/// The sum of each row's part of each warp.
type Parts = PerWarp<[u32; ROWS], { BLOCK / 32 }>;

/// `sums[i]` is the sum of `x[0]` to `x[i]`, wrapping around.
///
/// Launch it in one dimension with blocks of [`BLOCK`] threads, one for each [`TILE`] elements. `published` has
/// [`places`]`(x.len())` elements, all zero. `x` is as long as `sums`.
#[kernel(block = BLOCK, min_blocks = 10)]
pub fn scan(
    x: &[u32],
    published: &[Atomic<u64>],
    mut sums: Disjoint<u32, Rounds<[VectorOf<4>; 4], Run<8>>>,
    mut half: Shared<Half>,
    mut parts: Shared<Parts>,
    mut before: Shared<Table<u32, 1>>,
) {
    // Four rows are scanned while the next four are on their way: the first half to shared memory, the rest to registers.
    let mut half_rows = half.part();
    let mut keep = |time: usize, rows: Rows| {
        for (k, vector) in rows.into_iter().enumerate() {
            half_rows[4 * time + k] = Vector4(vector);
        }
    };
    let a = sums.load(x, 0);
    let b = sums.load(x, 1);
    keep(0, scan_rows(0, a, &mut parts));
    let c = sums.load(x, 2);
    keep(1, scan_rows(1, b, &mut parts));
    let d = sums.load(x, 3);
    keep(2, scan_rows(2, c, &mut parts));
    let e = sums.load(x, 4);
    keep(3, scan_rows(3, d, &mut parts));
    let f = sums.load(x, 5);
    let e = scan_rows(4, e, &mut parts);
    let g = sums.load(x, 6);
    let f = scan_rows(5, f, &mut parts);
    let h = sums.load(x, 7);
    let g = scan_rows(6, g, &mut parts);
    let h = scan_rows(7, h, &mut parts);

    // The order is row by row, and within a row warp by warp. Each lane has one of the 64 parts of either half.
    let parts = parts.sync();
    let (lane, number) = (warp::lane_id(), warp::warp_id());
    let part = |half: usize| parts[lane as usize % 2][16 * half + lane as usize / 2];
    let of_half = [warp::inclusive_sum(part(0)), warp::inclusive_sum(part(1))];
    let [first, second] = of_half.map(|sum| warp::shuffle(sum, warp::WARP_SIZE - 1));
    let starts = [of_half[0].wrapping_sub(part(0)), first.wrapping_add(of_half[1]).wrapping_sub(part(1))];
    if number == 0 {
        let sum = sum_before(published, first.wrapping_add(second));
        if let Some(before) = before.own() {
            *before = sum;
        }
    }
    let before = before.sync()[0];
    let starts = starts.map(|start| start.wrapping_add(before));
    let add_start = |time: usize, rows: Rows| -> Rows {
        core::array::from_fn(|k| {
            let place = 2 * (4 * time + k) as u32 + number;
            let start = warp::shuffle(starts[time / 4], place % warp::WARP_SIZE);
            let [b, c, d, up_to] = rows[k];
            let last = up_to.wrapping_add(start);
            let third = last.wrapping_sub(d);
            let second = third.wrapping_sub(c);
            [second.wrapping_sub(b), second, third, last]
        })
    };
    // Elements in registers are written first.
    sums.store(4, add_start(4, e));
    sums.store(5, add_start(5, f));
    sums.store(6, add_start(6, g));
    sums.store(7, add_start(7, h));
    for time in 0..4 {
        let half = half.part();
        let rows = core::array::from_fn(|k| half[4 * time + k].0);
        sums.store(time, add_start(time, rows));
    }
}

/// Scans the warp's part of each of four rows. Only the end of each vector is summed up; elements behind the first stay
/// unchanged: subtracting them from the sum again gives the earlier sums, so four numbers are kept, not eight.
#[inline(always)]
fn scan_rows(time: usize, [a, b, c, d]: Rows, parts: &mut Shared<Parts>) -> Rows {
    let mut scan_row = |k: usize, [a, b, c, d]: [u32; 4]| {
        let own = a.wrapping_add(b).wrapping_add(c).wrapping_add(d);
        let up_to = warp::inclusive_sum(own);
        let whole = warp::shuffle(up_to, warp::WARP_SIZE - 1);
        if let Some(parts) = parts.own() {
            parts[4 * time + k] = whole;
        }
        [b, c, d, up_to]
    };
    [scan_row(0, a), scan_row(1, b), scan_row(2, c), scan_row(3, d)]
}

/// The sum of everything before the block's tile, whose own sum is `whole`. Called by one warp.
#[inline(always)]
fn sum_before(published: &[Atomic<u64>], whole: u32) -> u32 {
    let look_back = LookBack::of_block(published);
    let mut sum = 0_u32;
    look_back.wait(&whole, PAUSE, |_, earlier: u32| sum = sum.wrapping_add(earlier));
    let sum = warp::reduce(sum, u32::wrapping_add);
    look_back.publish_end(|| Some(sum.wrapping_add(whole)));
    sum
}
