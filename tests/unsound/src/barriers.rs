//! Threads that part: some exit, some panic, some never come to a barrier.

use cuda_std::prelude::*;

/// Half of the block exits before the barrier.
#[kernel]
pub fn exit_before_barrier(mut y: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    *tile.own() = 5;
    if thread::thread_idx_x() < 32 {
        return;
    }
    let tile = tile.sync();
    if let Some(y) = y.own() {
        *y = tile[0];
    }
}

/// One thread panics before the barrier.
#[kernel]
pub fn panic_in_one(x: &[u32], mut y: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    let i = thread::thread_idx_x() as usize;
    *tile.own() = 5;
    // The last thread has no element.
    let value = x[i];
    let tile = tile.sync();
    if let Some(y) = y.own() {
        *y = tile[63 - i] + value;
    }
}

/// Threads of one warp pass different barriers in different order.
#[kernel]
pub fn barriers_in_another_order(
    mut y: DisjointSlice<u32>,
    mut left: Shared<Tile<u32, 64>>,
    mut right: Shared<Tile<u32, 64>>,
) {
    *left.own() = 1;
    *right.own() = 2;
    let sum = if thread::thread_idx_x() < 32 {
        let (left, right) = (left.sync(), right.sync());
        left[63] + right[63]
    } else {
        let (right, left) = (right.sync(), left.sync());
        left[0] + right[0]
    };
    if let Some(y) = y.own() {
        *y = sum;
    }
}

/// An element of a tile that was never written is an index.
#[kernel]
pub fn index_never_written(x: &[u32], mut y: DisjointSlice<u32>, tile: Shared<Tile<u32, 64>>) {
    let tile = tile.sync();
    let i = tile[0] as usize;
    if let Some(y) = y.own() {
        *y = if i < x.len() { x[i] } else { 12345 };
    }
}

/// Half of the block scans while the other half reduces, by the same scratch memory.
#[kernel]
pub fn scratch_used_in_two_ways(x: &[u32], mut y: DisjointSlice<u32>, mut block: BlockScratch<u32>) {
    let own = x[thread::thread_idx_x() as usize];
    let mut result = 0;
    for turn in 0..4 {
        result = if thread::thread_idx_x() < 32 {
            block.reduce_sum(own + turn)
        } else {
            block.exclusive_sum_with_total(own + turn).0
        };
    }
    if let Some(y) = y.own() {
        *y = result;
    }
}

/// Threads of all warps return between two reductions.
#[kernel]
pub fn scratch_that_threads_leave(x: &[u32], mut y: DisjointSlice<u32>, mut block: BlockScratch<u32>) {
    let thread = thread::thread_idx_x();
    for turn in 0..4 {
        if thread % 16 == turn {
            return;
        }
        let sum = block.reduce_sum(x[thread as usize]);
        if let Some(y) = y.own() {
            *y = sum;
        }
    }
}

/// Half of the block reads in a closure, the other half between two barriers.
#[kernel]
pub fn read_in_two_ways(mut y: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    let thread = thread::thread_idx_x() as usize;
    *tile.own() = 5;
    for _ in 0..3 {
        let opposite = if thread < 32 {
            tile.read(|tile| tile[63 - thread])
        } else {
            let view = tile.sync();
            let opposite = view[63 - thread];
            tile = view.sync();
            opposite
        };
        *tile.own() += opposite;
    }
    if let Some(y) = y.own() {
        *y = *tile.own();
    }
}

/// Half of the block returns inside of a closure that reads, by a panic.
#[kernel]
pub fn panic_while_reading(x: &[u32], mut y: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    let thread = thread::thread_idx_x() as usize;
    *tile.own() = 5;
    let seen = tile.read(|tile| tile[63 - thread] + x[thread]);
    *tile.own() = 7;
    let after = tile.read(|tile| tile[63 - thread]);
    if let Some(y) = y.own() {
        *y = seen + after;
    }
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use crate::Target;
    use rumba::{Error, Result};

    /// The writes of threads that exited are ordered before the reads of the other threads.
    pub fn early_exit(target: &Target) -> Result<()> {
        let mut y = [0_u32; 64];
        target.module.launch((1, 64), super::exit_before_barrier(&mut y))?;
        assert_eq!((y[..32].to_vec(), y[32..].to_vec()), (vec![0; 32], vec![5; 32]));
        Ok(())
    }

    /// The writes of a thread that panicked are ordered before the reads of the other threads.
    pub fn panic_before_barrier(target: &Target) -> Result<()> {
        let x = [1_u32; 63];
        let mut y = target.device.zeros::<u32>(64)?;
        let launched = target.module.launch((1, 64), super::panic_in_one(&x, &mut y));
        let outcome = launched.and_then(|()| target.device.synchronize());
        assert!(matches!(outcome, Err(Error::Panic(_))), "{outcome:?}");
        assert_eq!(y.to_vec()?[..63], [6; 63]);
        Ok(())
    }

    /// Each half waits for the other at another barrier. This is a deadlock, which a GPU does not end.
    pub fn half_of_the_block(target: &Target) -> Result<()> {
        if !target.is_checked {
            return Ok(());
        }
        let mut y = target.device.zeros::<u32>(64)?;
        let launched = target.module.launch((1, 64), super::barriers_in_another_order(&mut y));
        let outcome = launched.and_then(|()| target.device.synchronize());
        assert!(outcome.is_err(), "the two halves passed each other");
        Ok(())
    }

    /// Threads in different methods of one scratch memory get some numbers, and end.
    pub fn scratch_in_two_ways(target: &Target) -> Result<()> {
        let (x, mut y) = ([1_u32; 64], [0_u32; 64]);
        target.module.launch((1, 64), super::scratch_used_in_two_ways(&x, &mut y))
    }

    /// Threads whose block has lost other threads get some numbers, and end.
    pub fn scratch_without_threads(target: &Target) -> Result<()> {
        let (x, mut y) = ([1_u32; 64], [0_u32; 64]);
        target.module.launch((1, 64), super::scratch_that_threads_leave(&x, &mut y))
    }

    /// The two ways to read are one protocol.
    pub fn reads_in_two_ways(target: &Target) -> Result<()> {
        let mut y = [0_u32; 64];
        target.module.launch((1, 64), super::read_in_two_ways(&mut y))?;
        assert_eq!(y, [40; 64]);
        Ok(())
    }

    /// A thread that panics while it reads is not waited for when the others write.
    pub fn panic_in_a_closure_that_reads(target: &Target) -> Result<()> {
        let x = [1_u32; 40];
        let mut y = target.device.zeros::<u32>(64)?;
        let launched = target.module.launch((1, 64), super::panic_while_reading(&x, &mut y));
        let outcome = launched.and_then(|()| target.device.synchronize());
        assert!(matches!(outcome, Err(Error::Panic(_))), "{outcome:?}");
        // Opposite of threads 0 to 23 are those that have panicked, whose elements stay what they were.
        let y = y.to_vec()?;
        assert_eq!((&y[..24], &y[24..40]), (&[11; 24][..], &[13; 16][..]));
        Ok(())
    }

    /// Shared memory that was never written has some value, the same whenever it is looked at.
    pub fn never_written(target: &Target) -> Result<()> {
        let x = [3_u32; 4];
        let mut y = target.device.zeros::<u32>(64)?;
        target.module.launch((1, 64), super::index_never_written(&x, &mut y))?;
        let y = y.to_vec()?;
        assert!(y.iter().all(|&value| value == 3 || value == 12345), "{y:?}");
        Ok(())
    }
}
