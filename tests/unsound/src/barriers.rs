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

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use crate::Target;
    use rumba::{Error, Result};

    /// What the threads that exited have written is ordered before what the others read.
    pub fn early_exit(target: &Target) -> Result<()> {
        let mut y = [0_u32; 64];
        target.module.launch((1, 64), super::exit_before_barrier(&mut y))?;
        assert_eq!((y[..32].to_vec(), y[32..].to_vec()), (vec![0; 32], vec![5; 32]));
        Ok(())
    }

    /// What a thread that panicked has written is ordered before what the others read.
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
