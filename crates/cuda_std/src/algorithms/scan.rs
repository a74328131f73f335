//! The scan of a slice by one launch, which reads every element once and writes every result once.
//!
//! A block scans a tile by itself, stores the tile in shared memory, and publishes the tile's total. The block computes
//! the prefix of its tile from the totals that earlier blocks published ([`LookBack`]).
//!
//! Because tiles lie in shared memory, a multiprocessor holds many tiles at a time that wait or are being loaded.
//! Pending loads delay the reads of published totals, so a thread requests only a few vectors at a time.

use core::array;

use bytemuck::Pod;

use super::look_back::{LOOKS, LookBack};
use super::{Operator, combine};
use crate::array::output::{Disjoint, Rounds, Run, VectorOf};
use crate::collective::warp::{self, WARP_SIZE};
use crate::device::thread::block_idx_x;
use crate::mem::atomic::Atomic;
use crate::mem::shared::{PerWarp, Shared, Table, Tile};
use crate::number::vector::Vector4;

/// Threads of a block.
pub const BLOCK: usize = 128;

/// Vectors that a thread loads together.
const AT_ONCE: usize = 4;

/// How often it does so in a tile.
const TIMES: usize = 4;

/// Vectors of a thread in a tile: a row of the tile has one of each thread.
pub const ROWS: usize = AT_ONCE * TIMES;

/// Vectors of a tile, 16 bytes each.
pub const TILE: usize = ROWS * BLOCK;

/// The output of a scan: a tile for each block.
pub type Output<'l, T, const V: usize> = Disjoint<'l, T, Rounds<[VectorOf<V>; AT_ONCE], Run<TIMES>>>;

/// Where a tile waits for what is before it.
type Held<'l> = Shared<'l, Tile<Vector4<u32>, TILE>>;

/// The totals of each warp's part of each row.
type Rows<'l, T> = Shared<'l, PerWarp<[T; ROWS], WARPS>>;

/// Nanoseconds until a block looks at others for the first time.
const PAUSE: u32 = 2500;

/// Warps of a block.
pub const WARPS: usize = BLOCK / WARP_SIZE as usize;
const _: () = assert!(ROWS * WARPS == 2 * WARP_SIZE as usize, "a lane has two warps' parts of rows");

/// Combines each element of `x` with all before it: `y[i]` is the combination of `x[0]` to `x[i]`; or, if `is_exclusive`, of
/// `initial` and `x[0]` to `x[i - 1]`. The order is kept.
///
/// A launch is 1-D, with blocks of [`BLOCK`] threads, one for each [`TILE`] vectors, which start in the order of their
/// numbers: a block waits for earlier ones only. `published` is all zero, and has as many elements as the
/// [`scan_places`](super::scan_places) for all blocks have words of 32 bits. `V` elements are 16 bytes.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn scan<T: Pod, O: Operator<T>, const V: usize>(
    x: &[T],
    initial: T,
    is_exclusive: bool,
    mut y: Output<T, V>,
    published: &[Atomic<u64>],
    mut held: Held,
    mut rows: Rows<T>,
    mut before: Shared<Table<T, 1>>,
) where
    [T; V]: Pod,
{
    let (lane, number) = (warp::lane_id(), warp::warp_id() as usize);
    // Written out, so that nothing is indexed, and the next vectors are on their way while these are scanned.
    let mut scan_rows = |time: usize, [a, b, c, d]: [[T; V]; AT_ONCE]| {
        let first = time * AT_ONCE;
        scan_row::<T, O, V>(first, a, &mut held, &mut rows);
        scan_row::<T, O, V>(first + 1, b, &mut held, &mut rows);
        scan_row::<T, O, V>(first + 2, c, &mut held, &mut rows);
        scan_row::<T, O, V>(first + 3, d, &mut held, &mut rows);
    };
    let first = y.load(x, 0);
    let second = y.load(x, 1);
    scan_rows(0, first);
    let third = y.load(x, 2);
    scan_rows(1, second);
    let fourth = y.load(x, 3);
    scan_rows(2, third);
    scan_rows(3, fourth);

    // The order is row by row, and in a row warp by warp: lane l has the place l in it, and the one as many lanes behind.
    let rows = rows.sync();
    let mut whole = None;
    let starts: [T; 2] = array::from_fn(|part| {
        let place = part * WARP_SIZE as usize + lane as usize;
        let upto = warp::inclusive_scan(rows[place % WARPS][place / WARPS], O::combine);
        let lower = warp::shuffle_up(upto, 1);
        let start = if lane > 0 { combine::<T, O>(whole, Some(lower)) } else { whole };
        whole = combine::<T, O>(whole, Some(warp::shuffle(upto, WARP_SIZE - 1)));
        start.unwrap_or(lower)
    });
    let is_first = block_idx_x() == 0 && !is_exclusive;
    if let Some(whole) = whole
        && number == 0
    {
        let earlier = before_tile::<T, O>(published, is_exclusive.then_some(initial), whole);
        if let Some(before) = before.own() {
            *before = earlier.unwrap_or(initial);
        }
    }
    let before = before.sync();
    let before = (!is_first).then_some(before[0]);

    for time in 0..TIMES {
        let vectors = array::from_fn(|k| {
            let row = time * AT_ONCE + k;
            let place = row * WARPS + number;
            let starts = if place < WARP_SIZE as usize { starts[0] } else { starts[1] };
            let start = warp::shuffle(starts, place as u32 % WARP_SIZE);
            let start = combine::<T, O>(before, (place > 0).then_some(start));
            let vector: [T; V] = bytemuck::cast(held.part()[row].0);
            if !is_exclusive {
                return vector.map(|value| combine::<T, O>(start, Some(value)).unwrap_or(value));
            }
            let start = start.unwrap_or(initial);
            let lower = warp::shuffle_up(vector[V - 1], 1);
            array::from_fn(|j| match j {
                0 if lane == 0 => start,
                0 => O::combine(start, lower),
                _ => O::combine(start, vector[j - 1]),
            })
        });
        y.store(time, vectors);
    }
}

/// Scans a warp's part of a row as it arrives: the elements lie one after the other there.
#[inline(always)]
fn scan_row<T: Pod, O: Operator<T>, const V: usize>(row: usize, mut vector: [T; V], held: &mut Held, rows: &mut Rows<T>)
where
    [T; V]: Pod,
{
    for j in 1..V {
        vector[j] = O::combine(vector[j - 1], vector[j]);
    }
    let upto = warp::inclusive_scan(vector[V - 1], O::combine);
    let lower = warp::shuffle_up(upto, 1);
    if warp::lane_id() > 0 {
        vector = vector.map(|value| O::combine(lower, value));
    }
    held.part()[row] = Vector4(bytemuck::cast(vector));
    let whole = warp::shuffle(upto, WARP_SIZE - 1);
    if let Some(rows) = rows.own() {
        rows[row] = whole;
    }
}

/// The prefix of the block's tile, if any, starting with `initial`; `whole` is the total of the tile. Called by one
/// warp.
#[inline(always)]
fn before_tile<T: Pod, O: Operator<T>>(published: &[Atomic<u64>], initial: Option<T>, whole: T) -> Option<T> {
    let look_back = LookBack::of_block(published);
    // Unknown values are zero bytes rather than `None`, whose payload the optimiser would leave undefined: lanes
    // exchange it in any case.
    let mut values = [T::zeroed(); LOOKS + 1];
    look_back.wait(&whole, PAUSE, |k, value| values[k] = value);
    let mut before =
        if look_back.is_in_first_group() { initial } else { Some(warp::shuffle(values[0], WARP_SIZE - 1)) };
    for (k, value) in values[1..].iter().enumerate() {
        let upto = warp::inclusive_scan(*value, O::combine);
        let there = look_back.earlier.saturating_sub(k as u32 * WARP_SIZE).min(WARP_SIZE);
        if there > 0 {
            before = combine::<T, O>(before, Some(warp::shuffle(upto, there - 1)));
        }
    }
    look_back.publish_end(|| combine::<T, O>(before, Some(whole)));
    before
}
