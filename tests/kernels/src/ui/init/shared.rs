//! Shared memory, which holds what another block left there.

use cuda_std::kernel;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;
use cuda_std::warp;

use crate::ui::device::{atomic, bid, gid, tid};

//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn tile_never_written(y: *mut u32) {
    let tile = shared_array![u32; 64];
    *y.add(tid()) = tile.add(tid()).read_volatile(); //~ unwritten-read
}

//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn halo_never_written(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 66];
    let i = tid();
    *tile.add(i + 1) = *x.add(i);
    sync_threads();
    *y.add(i) = *tile.add(i) + *tile.add(i + 2); //~ unwritten-read
}

//@ right, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn halo_of_zeros(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 66];
    let i = tid();
    *tile.add(i + 1) = *x.add(i);
    if i < 2 {
        *tile.add(65 * i) = 0;
    }
    sync_threads();
    *y.add(i) = *tile.add(i) + *tile.add(i + 2);
}

/// The rest of the last tile is left as it was.
//@ wrong, 2 x 64: in 100, zero 2, 100
#[kernel]
pub unsafe fn rest_of_the_last_tile(x: *const u32, sums: *mut u32, n: u32) {
    let tile = shared_array![u32; 64];
    let i = tid();
    if gid() < n as usize {
        *tile.add(i) = *x.add(gid());
    }
    sync_threads();
    if i == 0 {
        let mut sum = 0;
        for k in 0..64 {
            sum += *tile.add(k); //~ unwritten-read
        }
        *sums.add(bid()) = sum; //~ unwritten-read
    }
}

//@ right, 2 x 64: in 100, zero 2, 100
#[kernel]
pub unsafe fn rest_of_the_last_tile_of_zeros(x: *const u32, sums: *mut u32, n: u32) {
    let tile = shared_array![u32; 64];
    let i = tid();
    *tile.add(i) = if gid() < n as usize { *x.add(gid()) } else { 0 };
    sync_threads();
    if i == 0 {
        let mut sum = 0;
        for k in 0..64 {
            sum += *tile.add(k);
        }
        *sums.add(bid()) = sum;
    }
}

//@ wrong, 1 x 64: in 64, zero 16
#[kernel]
pub unsafe fn histogram_not_zeroed(x: *const u32, y: *mut u32) {
    let bins = shared_array![u32; 16];
    let i = tid();
    atomic(bins.add(*x.add(i) as usize % 16)).fetch_add(1); //~ unwritten-read
    sync_threads();
    if i < 16 {
        *y.add(i) = *bins.add(i);
    }
}

/// Eight threads zero sixteen bins.
//@ wrong, 1 x 64: in 64, zero 16
#[kernel]
pub unsafe fn histogram_half_zeroed(x: *const u32, y: *mut u32) {
    let bins = shared_array![u32; 16];
    let i = tid();
    if i < 8 {
        *bins.add(i) = 0;
    }
    sync_threads();
    atomic(bins.add(*x.add(i) as usize % 16)).fetch_add(1); //~ unwritten-read
    sync_threads();
    if i < 16 {
        *y.add(i) = *bins.add(i);
    }
}

//@ right, 1 x 64: in 64, zero 16
#[kernel]
pub unsafe fn histogram_zeroed(x: *const u32, y: *mut u32) {
    let bins = shared_array![u32; 16];
    let i = tid();
    if i < 16 {
        *bins.add(i) = 0;
    }
    sync_threads();
    atomic(bins.add(*x.add(i) as usize % 16)).fetch_add(1);
    sync_threads();
    if i < 16 {
        *y.add(i) = *bins.add(i);
    }
}

/// A block of two warps fills two of the 32 sums that its first warp adds up.
//@ wrong, 1 x 64: in 64, zero 1
#[kernel]
pub unsafe fn sums_of_warps_that_are_not_there(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 32];
    let i = tid();
    let sum = warp::reduce_sum(*x.add(i));
    if i % 32 == 0 {
        *sums.add(i / 32) = sum;
    }
    sync_threads();
    if i < 32 {
        let sum = warp::reduce_sum(*sums.add(i)); //~ unwritten-read
        if i == 0 {
            *y = sum;
        }
    }
}

//@ right, 1 x 64: in 64, zero 1
#[kernel]
pub unsafe fn sums_of_warps_that_are_there(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 32];
    let i = tid();
    let sum = warp::reduce_sum(*x.add(i));
    if i % 32 == 0 {
        *sums.add(i / 32) = sum;
    }
    sync_threads();
    if i < 32 {
        let sum = warp::reduce_sum(if i < 2 { *sums.add(i) } else { 0 });
        if i == 0 {
            *y = sum;
        }
    }
}

/// The first step reads the buffer that only the second one fills.
//@ wrong, 1 x 64: in 256, zero 64
#[kernel]
pub unsafe fn double_buffer_read_too_early(x: *const u32, y: *mut u32) {
    let tiles = shared_array![u32; 128];
    let i = tid();
    let mut sum = 0;
    for step in 0..4 {
        let (new, old) = (64 * (step % 2), 64 * ((step + 1) % 2));
        sum += *tiles.add(old + i); //~ unwritten-read
        *tiles.add(new + i) = *x.add(64 * step + i);
    }
    *y.add(i) = sum; //~ unwritten-read
}

/// Block 0 leaves values behind that block 1 must not count on.
//@ wrong, 2 x 64: zero 128
#[kernel]
pub unsafe fn only_the_first_block_writes(y: *mut u32) {
    let tile = shared_array![u32; 64];
    if bid() == 0 {
        *tile.add(tid()) = 5;
    }
    sync_threads();
    *y.add(gid()) = *tile.add(63 - tid()); //~ unwritten-read
}

//@ right, 2 x 64: zero 128
#[kernel]
pub unsafe fn every_block_writes(y: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(tid()) = 5;
    sync_threads();
    *y.add(gid()) = *tile.add(63 - tid());
}

//@ wrong, 1 x 32, shared 256: in 32, zero 32
#[kernel]
pub unsafe fn dynamic_shared_memory_half_written(x: *const u32, y: *mut u32) {
    let tile = dynamic_shared_mem::<u32>();
    *tile.add(tid()) = *x.add(tid());
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid()); //~ unwritten-read
}

//@ right, 1 x 32, shared 256: in 32, zero 32
#[kernel]
pub unsafe fn dynamic_shared_memory_written(x: *const u32, y: *mut u32) {
    let tile = dynamic_shared_mem::<u32>();
    *tile.add(tid()) = *x.add(tid());
    *tile.add(32 + tid()) = 0;
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid());
}
