//! Races within a block, which a barrier prevents.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{atomic, bar_arrive, bar_sync, bid, gid, tid};

//@ wrong, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn reverse_without_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 128];
    let i = tid();
    *tile.add(i) = *x.add(i); //~ data-race
    *y.add(i) = *tile.add(127 - i); //~ data-race, unwritten-read?
}

//@ right, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn reverse_with_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 128];
    let i = tid();
    *tile.add(i) = *x.add(i);
    sync_threads();
    *y.add(i) = *tile.add(127 - i);
}

//@ wrong, 2 x 128: in 256, out 2
#[kernel]
pub unsafe fn reduce_without_barrier_in_loop(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 128];
    let i = tid();
    *sums.add(i) = *x.add(gid());
    sync_threads();
    let mut half = 64;
    while half > 0 {
        if i < half {
            *sums.add(i) += *sums.add(i + half); //~ data-race
        }
        half /= 2;
    }
    if i == 0 {
        *y.add(bid()) = *sums;
    }
}

//@ right, 2 x 128: in 256, out 2
#[kernel]
pub unsafe fn reduce_with_barrier_in_loop(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 128];
    let i = tid();
    *sums.add(i) = *x.add(gid());
    sync_threads();
    let mut half = 64;
    while half > 0 {
        if i < half {
            *sums.add(i) += *sums.add(i + half);
        }
        sync_threads();
        half /= 2;
    }
    if i == 0 {
        *y.add(bid()) = *sums;
    }
}

//@ wrong, 1 x 128: in 130, out 128
#[kernel]
pub unsafe fn stencil_halo_without_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 130];
    let i = tid();
    *tile.add(i + 1) = *x.add(i + 1); //~ data-race 1
    if i == 0 {
        *tile = *x;
        *tile.add(129) = *x.add(129); //~ data-race 2
    }
    *y.add(i) = *tile.add(i) + *tile.add(i + 2); //~ data-race 1, data-race 2, unwritten-read?
}

//@ right, 1 x 128: in 130, out 128
#[kernel]
pub unsafe fn stencil_halo_with_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 130];
    let i = tid();
    *tile.add(i + 1) = *x.add(i + 1);
    if i == 0 {
        *tile = *x;
        *tile.add(129) = *x.add(129);
    }
    sync_threads();
    *y.add(i) = *tile.add(i) + *tile.add(i + 2);
}

//@ wrong, 1 x 64: in 256, out 64
#[kernel]
pub unsafe fn tile_used_again_without_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    let i = tid();
    let mut sum = 0;
    for step in 0..4 {
        *tile.add(i) = *x.add(64 * step + i); //~ data-race
        sync_threads();
        sum += *tile.add(63 - i); //~ data-race
    }
    *y.add(i) = sum;
}

//@ right, 1 x 64: in 256, out 64
#[kernel]
pub unsafe fn tile_used_again_with_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    let i = tid();
    let mut sum = 0;
    for step in 0..4 {
        *tile.add(i) = *x.add(64 * step + i);
        sync_threads();
        sum += *tile.add(63 - i);
        sync_threads();
    }
    *y.add(i) = sum;
}

/// After the barrier it also reads the buffer before, which others already fill for the next step.
//@ wrong, 1 x 64: in 256, out 64
#[kernel]
pub unsafe fn double_buffer_used_too_early(x: *const u32, y: *mut u32) {
    let tiles = shared_array![u32; 128];
    let i = tid();
    let mut sum = 0;
    *tiles.add(64 + i) = 0;
    for step in 0..4 {
        let (new, old) = (64 * (step % 2), 64 * ((step + 1) % 2));
        *tiles.add(new + i) = *x.add(64 * step + i); //~ data-race
        sync_threads();
        sum += *tiles.add(new + 63 - i);
        sum += *tiles.add(old + 63 - i); //~ data-race
    }
    *y.add(i) = sum;
}

/// One barrier in each step is enough for two buffers.
//@ right, 1 x 64: in 256, out 64
#[kernel]
pub unsafe fn double_buffer(x: *const u32, y: *mut u32) {
    let tiles = shared_array![u32; 128];
    let i = tid();
    let mut sum = 0;
    for step in 0..4 {
        let new = 64 * (step % 2);
        *tiles.add(new + i) = *x.add(64 * step + i);
        sync_threads();
        sum += *tiles.add(new + 63 - i);
    }
    *y.add(i) = sum;
}

/// Two warps each meet, and then read what the other two wrote.
//@ wrong, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn barrier_for_half_of_the_block(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 128];
    let i = tid();
    *tile.add(i) = *x.add(i); //~ data-race
    bar_sync!(1 + i as u32 / 64, 64);
    *y.add(i) = *tile.add(127 - i); //~ data-race
}

//@ right, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn barrier_for_each_half_of_the_block(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 128];
    let i = tid();
    *tile.add(i) = *x.add(i);
    bar_sync!(1 + i as u32 / 64, 64);
    *y.add(i) = *tile.add(i ^ 63);
}

//@ wrong, 1 x 64: in 32, out 32
#[kernel]
pub unsafe fn producer_arrives_before_it_writes(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    if i < 32 {
        bar_arrive!(1, 64);
        *tile.add(i) = *x.add(i); //~ data-race
    } else {
        bar_sync!(1, 64);
        *y.add(i - 32) = *tile.add(i - 32); //~ data-race
    }
}

//@ right, 1 x 64: in 32, out 32
#[kernel]
pub unsafe fn producer_arrives_after_it_wrote(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    if i < 32 {
        *tile.add(i) = *x.add(i);
        bar_arrive!(1, 64);
    } else {
        bar_sync!(1, 64);
        *y.add(i - 32) = *tile.add(i - 32);
    }
}

//@ wrong, 1 x 128: in 128, out 16
#[kernel]
pub unsafe fn histogram_without_atomics(x: *const u32, y: *mut u32) {
    let bins = shared_array![u32; 16];
    let i = tid();
    if i < 16 {
        *bins.add(i) = 0;
    }
    sync_threads(); //~ divergent-barrier? 1
    *bins.add(*x.add(i) as usize % 16) += 1; //~ data-race
    sync_threads(); //~ divergent-barrier? 2
    if i < 16 {
        *y.add(i) = *bins.add(i);
    }
}

//@ right, 1 x 128: in 128, out 16
#[kernel]
pub unsafe fn histogram_with_atomics(x: *const u32, y: *mut u32) {
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

//@ wrong, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn counter_zeroed_beside_its_use(x: *const u32, y: *mut u32) {
    let count = shared_array![u32; 1];
    let i = tid();
    if i == 0 {
        *count = 0; //~ data-race
    }
    atomic(count).fetch_add(*x.add(i)); //~ data-race, unwritten-read?
    sync_threads(); //~ divergent-barrier? 1
    if i == 0 {
        *y = *count;
    }
}

//@ right, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn counter_zeroed_before_its_use(x: *const u32, y: *mut u32) {
    let count = shared_array![u32; 1];
    let i = tid();
    if i == 0 {
        *count = 0;
    }
    sync_threads();
    atomic(count).fetch_add(*x.add(i));
    sync_threads();
    if i == 0 {
        *y = *count;
    }
}

//@ wrong, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn broadcast_without_barrier(x: *const u32, y: *mut u32) {
    let first = shared_array![u32; 1];
    let i = tid();
    if i == 0 {
        *first = *x; //~ data-race
    }
    *y.add(i) = *first + *x.add(i); //~ data-race, unwritten-read?
}

//@ right, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn broadcast_with_barrier(x: *const u32, y: *mut u32) {
    let first = shared_array![u32; 1];
    let i = tid();
    if i == 0 {
        *first = *x;
    }
    sync_threads();
    *y.add(i) = *first + *x.add(i);
}

/// Each step reads elements that other threads write in the same step.
//@ wrong, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn scan_in_place_with_one_barrier(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 128];
    let i = tid();
    *sums.add(i) = *x.add(i);
    let mut distance = 1;
    while distance < 128 {
        sync_threads();
        let lower = if i >= distance { *sums.add(i - distance) } else { 0 }; //~ data-race
        *sums.add(i) += lower; //~ data-race
        distance *= 2;
    }
    *y.add(i) = *sums.add(i);
}

//@ right, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn scan_in_place_with_two_barriers(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 128];
    let i = tid();
    *sums.add(i) = *x.add(i);
    let mut distance = 1;
    while distance < 128 {
        sync_threads();
        let lower = if i >= distance { *sums.add(i - distance) } else { 0 };
        sync_threads();
        *sums.add(i) += lower;
        distance *= 2;
    }
    *y.add(i) = *sums.add(i);
}

/// Writes and reads of columns lie in different warps' rows.
//@ wrong, 1 x 256: in 256, out 256
#[kernel]
pub unsafe fn transpose_without_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 256];
    let i = tid();
    let (row, column) = (i / 16, i % 16);
    *tile.add(16 * column + row) = *x.add(i); //~ data-race
    *y.add(i) = *tile.add(i); //~ data-race, unwritten-read?
}

//@ right, 1 x 256: in 256, out 256
#[kernel]
pub unsafe fn transpose_with_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 256];
    let i = tid();
    let (row, column) = (i / 16, i % 16);
    *tile.add(16 * column + row) = *x.add(i);
    sync_threads();
    *y.add(i) = *tile.add(i);
}

/// A thread needs no barrier for its own element.
//@ right, 1 x 128: in 128, out 128
#[kernel]
pub unsafe fn own_element_without_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 128];
    let i = tid();
    *tile.add(i) = *x.add(i);
    *tile.add(i) += 1;
    *y.add(i) = *tile.add(i);
}
