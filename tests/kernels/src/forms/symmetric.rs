//! Kernels with symmetric memory. tests/tests/it/symmetric.rs launches them on several devices.

use cuda_std::prelude::*;
use cuda_std::symmetric::{Put, Symmetric};

/// In each of `turns` exchanges, every thread adds up what all ranks have for the element `turn` places behind its own, which is often
/// another block's. The launch has a thread for each element.
#[kernel(cooperative)]
pub fn add_ranks(turns: u32, x: &[u32], mut y: DisjointSlice<u32>, mut memory: Symmetric<u32>) {
    let (i, length) = (grid::<1>().get(), memory.len());
    let mut value = x[i];
    for turn in 0..turns as usize {
        memory.each(|_, element| *element = value);
        let ranks = memory.sync();
        let sum = ranks.iter().fold(0_u32, |sum, elements| sum.wrapping_add(elements[(i + turn) % length]));
        value = value.wrapping_mul(3).wrapping_add(sum);
        memory = ranks.sync();
    }
    if let Some(y) = y.own() {
        *y = value;
    }
}

/// Part `p` of y is what rank `p` has for this rank: part `rank` of its x. A grid of any size will do.
#[kernel(cooperative)]
pub fn all_to_all(x: &[u64], y: &[Atomic<u64>], mut memory: Symmetric<u64, Put>) {
    let length = memory.part_len();
    for rank in 0..memory.ranks() {
        memory.each_on(rank, |i, element| *element = x[rank * length + i]);
    }
    let ranks = memory.sync();
    for i in grid_stride(y.len()) {
        y[i].store(ranks.own()[i]);
    }
}

/// A thread of the second block panics before the exchange, if it is asked to.
#[kernel(cooperative)]
pub fn exchange_or_panic(panics: u32, mut memory: Symmetric<u32>) {
    let i = grid::<1>().get();
    assert!(panics == 0 || i != thread::block_dim_x() as usize, "a thread panics on purpose");
    memory.each(|i, element| *element = i as u32);
    let ranks = memory.sync();
    assert!(ranks.rank(0)[i] == i as u32, "an exchange is wrong");
}

/// Writes to the memory of a rank, which may not exist, and reads it.
#[kernel(cooperative)]
pub fn reach_rank(rank: u64, reads: u32, mut memory: Symmetric<u32, Put>) {
    if reads == 0 {
        memory.each_on(rank as usize, |_, element| *element = 1);
    }
    let ranks = memory.sync();
    assert!(ranks.rank(rank as usize).len() == 8, "an element is missing");
}
