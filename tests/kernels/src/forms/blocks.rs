//! Reductions and scans of blocks of any shape, in a loop: what tests/tests/it/blocks.rs launches.

use cuda_std::Element;
use cuda_std::prelude::*;
use cuda_std::warp::{Extreme, Sum};

/// The block's collective functions on the threads' elements: sum, least, largest, sums up to and before each, sum
/// before and total, largest up to each, first of all. Three times, of which the last is kept. For one block.
#[kernel(T = [u8, i16, u32, i32, i64, f32, f64])]
pub fn of_block<T: Element + Sum + Extreme + bytemuck::Pod>(
    x: &[T],
    mut y: Disjoint<[T; 9], PerThread<3>>,
    mut block: BlockScratch<T>,
) {
    let own = x[thread::index_in_block() as usize];
    for _ in 0..3 {
        let (before, total) = block.exclusive_sum_with_total(own);
        let results = [
            block.reduce_sum(own),
            block.reduce_min(own),
            block.reduce_max(own),
            block.inclusive_sum(own),
            block.exclusive_sum(own),
            before,
            total,
            block.inclusive_scan(own, T::larger),
            block.exclusive_scan(own, x[0], |first, _| first),
        ];
        if let Some(y) = y.own() {
            *y = results;
        }
    }
}

/// Affine functions `a x + b`, one after the other: an operator that is associative and not commutative.
#[kernel]
pub fn composed(x: &[[u32; 2]], mut y: Disjoint<[u32; 4], PerThread<3>>, mut block: BlockScratch<[u32; 2]>) {
    let own = x[thread::index_in_block() as usize];
    let through = block.inclusive_scan(own, then);
    let before = block.exclusive_scan(own, [1, 0], then);
    if let Some(y) = y.own() {
        *y = [through[0], through[1], before[0], before[1]];
    }
}

/// First `f`, then `g`.
#[must_use]
pub fn then(f: [u32; 2], g: [u32; 2]) -> [u32; 2] {
    [f[0].wrapping_mul(g[0]), f[1].wrapping_mul(g[0]).wrapping_add(g[1])]
}

/// The same operators of bits, and a block that states its shape.
#[kernel(block = (24, 4))]
pub fn bits_of_block(x: &[u64], mut y: Disjoint<[u64; 3], PerThread<2>>, mut block: BlockScratch<u64>) {
    let own = x[thread::index_in_block() as usize];
    let bits = [block.reduce_and(own), block.reduce_or(own), block.reduce_xor(own)];
    if let Some(y) = y.own() {
        *y = bits;
    }
}

/// Rows by blocks, each element less the row's mean and moved to the place opposite of it, for rows as long as a block. Both
/// kinds of shared memory are used in the loop, and in the closure.
#[kernel]
pub fn centred_and_reversed(
    mut a: Disjoint<f32, Rows>,
    mut b: Disjoint<f32, Rows>,
    mut keys: SharedSlice<f32>,
    mut block: BlockScratch<f32>,
) {
    let columns = a.columns();
    let mut turn = |row: &mut cuda_std::output::Row<f32>| {
        let mut own = 0.0;
        row.each(|_, y| own = *y);
        let mean = block.reduce_sum(own) / columns as f32;
        if let Some(key) = keys.own() {
            *key = own - mean;
        }
        let opposite = keys.read(|keys| keys[columns - 1 - thread::thread_idx_x() as usize]);
        row.each(|_, y| *y = opposite);
    };
    for (_, mut row) in a.rows_mut() {
        turn(&mut row);
    }
    b.each_row(|_, mut row| turn(&mut row));
}
