//! Inclusive scan: each element becomes the sum of all up to it, in one pass over memory.
//!
//! Sums that depend on all earlier elements seem to need one thread after the other. A block scans a tile of [`TILE`]
//! elements by itself; only then does it need the sum of everything before its tile. It publishes the tile's own sum at
//! once and looks back at the tiles before: their sums are added up until one is found that knows its sum from the start
//! (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back"). So no block waits for its
//! predecessor to be done, only for it to have read its tile, and every element is read once and written once.
//!
//! State and sum of a tile are one word of 64 bits, written and read as a whole: nothing else needs an order. Blocks must
//! be started in the order of their numbers, as GPUs do: a block waits for earlier ones only.

use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// Threads of a block.
pub const BLOCK: usize = 256;
/// Vectors of a thread.
const VECTORS: usize = 8;
/// Elements of a block.
pub const TILE: usize = 4 * VECTORS * BLOCK;

/// Nanoseconds before a block looks back for the first time. Meanwhile the sums get through the tiles before, of which few
/// remain to be looked at then; without it hundreds of blocks read each other's states again and again.
const PAUSE: u32 = 3000;

/// The tile's own sum is known.
const OWN: u64 = 1 << 32;
/// The sum of all elements up to the end of the tile is known.
const ALL: u64 = 2 << 32;

/// `sums[i]` is the sum of `x[0]` to `x[i]`, wrapping around.
///
/// Launch it in one dimension with blocks of [`BLOCK`] threads, one for each [`TILE`] elements. `tiles` has an element for
/// each block, all zero. `x` is as long as `sums`.
#[kernel(block = BLOCK)]
pub fn scan(
    x: &[Vector4<u32>],
    tiles: &[Atomic<u64>],
    mut sums: DisjointChunks<Vector4<u32>, VECTORS>,
    mut warps: Shared<PerWarp<[u32; VECTORS]>>,
    mut before: Shared<PerWarp<u32>>,
) {
    // Vectors of a warp lie next to each other, in rows that are a block apart.
    let vectors = sums.indices().map(|i| x.get(i).copied().unwrap_or_default());
    let within = vectors.map(|Vector4([a, b, c, d])| {
        let ab = a.wrapping_add(b);
        let abc = ab.wrapping_add(c);
        Vector4([a, ab, abc, abc.wrapping_add(d)])
    });
    // Sums up to each lane's vector, for each row; the last lane has the warp's.
    let lanes = within.map(|vector| scan_warp(vector[3]));
    let totals = lanes.map(|sum| warp::shuffle(sum, warp::WARP_SIZE - 1));
    if let Some(own) = warps.own() {
        *own = totals;
    }
    let warps = warps.sync();

    // The order of elements is row by row, and in a row warp by warp. Lane 8 r + w has the rows r and r + 4 of warp w.
    const WARPS: u32 = BLOCK as u32 / warp::WARP_SIZE;
    const ROWS: u32 = warp::WARP_SIZE / WARPS;
    let (lane, number) = (warp::lane_id(), warp::warp_id());
    let (warp, row) = ((lane % WARPS) as usize, (lane / WARPS) as usize);
    let mut whole = 0_u32;
    let starts: [u32; VECTORS / ROWS as usize] = core::array::from_fn(|part| {
        let total = warps[warp][part * ROWS as usize + row];
        let up_to = scan_warp(total).wrapping_add(whole);
        whole = warp::shuffle(up_to, warp::WARP_SIZE - 1);
        up_to.wrapping_sub(total)
    });
    if number == 0 {
        let sum = look_back(tiles, whole);
        if let Some(own) = before.own() {
            *own = sum;
        }
    }
    let before = before.sync()[0];

    sums.write(core::array::from_fn(|k| {
        let (part, row) = (k / ROWS as usize, k as u32 % ROWS);
        let start = warp::shuffle(starts[part], row * WARPS + number).wrapping_add(before);
        let start = start.wrapping_add(lanes[k]).wrapping_sub(within[k][3]);
        Vector4(within[k].0.map(|sum| sum.wrapping_add(start)))
    }));
}

/// The sum up to each lane.
fn scan_warp(mut value: u32) -> u32 {
    let lane = warp::lane_id();
    let mut distance = 1;
    while distance < warp::WARP_SIZE {
        let lower = warp::shuffle_up(value, distance);
        if lane >= distance {
            value = value.wrapping_add(lower);
        }
        distance *= 2;
    }
    value
}

/// The sum of everything before the block's tile, whose own sum is `whole`. Called by one warp.
fn look_back(tiles: &[Atomic<u64>], whole: u32) -> u32 {
    let (tile, lane) = (thread::block_idx_x(), warp::lane_id());
    let publish = |state: u64, sum: u32| {
        if lane == 0 {
            tiles[tile as usize].store(state | u64::from(sum));
        }
    };
    if tile == 0 {
        publish(ALL, whole);
        return 0;
    }
    publish(OWN, whole);
    if tile >= warp::WARP_SIZE {
        thread::nanosleep(PAUSE);
    }
    let mut sum = 0_u32;
    // Lane l looks at the tile l + 1 before; those before the first count as empty and complete.
    let mut at = tile.wrapping_sub(lane + 1);
    loop {
        let word = loop {
            let word = match at < tile {
                true => tiles[at as usize].load(),
                false => ALL,
            };
            if warp::all(word >= OWN) {
                break word;
            }
        };
        // Of the tiles that know everything before them the latest, which the lowest lane looks at.
        let complete = warp::ballot(word >= ALL);
        let last = complete.trailing_zeros();
        let part = if lane <= last { word as u32 } else { 0 };
        sum = sum.wrapping_add(warp::reduce(part, u32::wrapping_add));
        if complete != 0 {
            break;
        }
        at = at.wrapping_sub(warp::WARP_SIZE);
    }
    publish(ALL, sum.wrapping_add(whole));
    sum
}
