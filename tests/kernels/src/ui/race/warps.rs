//! Races within a warp, whose threads run in step on some devices and need not on any.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::{sync_threads, sync_warp};
use cuda_std::warp;

use crate::ui::device::tid;

//@ wrong, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn neighbour_without_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    *tile.add(i) = *x.add(i); //~ data-race
    *y.add(i) = *tile.add(i ^ 1); //~ data-race, unwritten-read?
}

//@ right, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn neighbour_with_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    *tile.add(i) = *x.add(i);
    sync_warp(u32::MAX);
    *y.add(i) = *tile.add(i ^ 1);
}

/// The last steps of a reduction, as they were written before Volta.
//@ wrong, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn last_warp_of_a_reduction_without_sync_warp(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 64];
    let i = tid();
    *sums.add(i) = *x.add(i);
    sync_threads();
    if i < 32 {
        let mut half = 32;
        while half > 0 {
            *sums.add(i) += *sums.add(i + half); //~ data-race
            half /= 2;
        }
    }
    if i == 0 {
        *y = *sums;
    }
}

//@ right, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn last_warp_of_a_reduction_with_sync_warp(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 64];
    let i = tid();
    *sums.add(i) = *x.add(i);
    sync_threads();
    if i < 32 {
        let mut half = 32;
        while half > 0 {
            let other = *sums.add(i + half);
            sync_warp(u32::MAX);
            *sums.add(i) += other;
            sync_warp(u32::MAX);
            half /= 2;
        }
    }
    if i == 0 {
        *y = *sums;
    }
}

/// It waits between the steps, but not between a step's reads and its writes.
//@ wrong, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn last_warp_with_one_sync_warp_for_each_step(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 64];
    let i = tid();
    *sums.add(i) = *x.add(i);
    sync_threads();
    if i < 32 {
        let mut half = 32;
        while half > 0 {
            *sums.add(i) += *sums.add(i + half); //~ data-race
            sync_warp(u32::MAX);
            half /= 2;
        }
    }
    if i == 0 {
        *y = *sums;
    }
}

/// Only lanes below `half` write, and none of what they read.
//@ right, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn last_warp_of_lanes_that_do_not_meet(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 64];
    let i = tid();
    *sums.add(i) = *x.add(i);
    sync_threads();
    if i < 32 {
        let mut half = 32;
        while half > 0 {
            if i < half {
                *sums.add(i) += *sums.add(i + half);
            }
            sync_warp(u32::MAX);
            half /= 2;
        }
    }
    if i == 0 {
        *y = *sums;
    }
}

/// A vote exchanges predicates and orders no memory.
//@ wrong, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn vote_in_place_of_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    *tile.add(i) = *x.add(i); //~ data-race
    let odd = warp::ballot(*x.add(i) % 2 == 1);
    *y.add(i) = *tile.add(31 - i) + odd; //~ data-race
}

/// A shuffle exchanges registers and orders no memory.
//@ wrong, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn shuffle_in_place_of_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    *tile.add(i) = *x.add(i); //~ data-race
    let first = warp::shuffle(*x.add(i), 0);
    *y.add(i) = *tile.add(31 - i) + first; //~ data-race
}

//@ right, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn shuffle_in_place_of_memory(x: *const u32, y: *mut u32) {
    let i = tid();
    *y.add(i) = warp::shuffle_xor(*x.add(i), 31);
}

/// Pairs of lanes meet, and then read beyond their pair.
//@ wrong, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn pairs_meet_and_fours_exchange(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    *tile.add(i) = *x.add(i); //~ data-race
    sync_warp(3 << (i & 30));
    *y.add(i) = *tile.add(i ^ 3); //~ data-race
}

//@ right, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn pairs_meet_and_exchange(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    let i = tid();
    *tile.add(i) = *x.add(i);
    sync_warp(3 << (i & 30));
    *y.add(i) = *tile.add(i ^ 1);
}

/// Warps do not meet at `sync_warp`.
//@ wrong, 1 x 64: in 64, out 64
#[kernel]
pub unsafe fn sync_warp_between_two_warps(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    let i = tid();
    *tile.add(i) = *x.add(i); //~ data-race
    sync_warp(u32::MAX);
    *y.add(i) = *tile.add(63 - i); //~ data-race, unwritten-read?
}

//@ wrong, 1 x 64: in 64, out 64
#[kernel]
pub unsafe fn leader_writes_without_sync_warp(x: *const u32, y: *mut u32) {
    let leaders = shared_array![u32; 2];
    let i = tid();
    if i % 32 == 0 {
        *leaders.add(i / 32) = *x.add(i); //~ data-race
    }
    *y.add(i) = *leaders.add(i / 32); //~ data-race, unwritten-read? 1
}

//@ right, 1 x 64: in 64, out 64
#[kernel]
pub unsafe fn leader_writes_with_sync_warp(x: *const u32, y: *mut u32) {
    let leaders = shared_array![u32; 2];
    let i = tid();
    if i % 32 == 0 {
        *leaders.add(i / 32) = *x.add(i);
    }
    sync_warp(u32::MAX);
    *y.add(i) = *leaders.add(i / 32);
}

/// The branches of a warp may run in either order, or in turns.
//@ wrong, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn branches_hand_over_without_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 16];
    let i = tid();
    if i < 16 {
        *tile.add(i) = *x.add(i); //~ data-race
    }
    if i >= 16 {
        *y.add(i) = *tile.add(i - 16); //~ data-race, unwritten-read?
    } else {
        *y.add(i) = 0;
    }
}

//@ right, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn branches_hand_over_with_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 16];
    let i = tid();
    if i < 16 {
        *tile.add(i) = *x.add(i);
    }
    sync_warp(u32::MAX);
    if i >= 16 {
        *y.add(i) = *tile.add(i - 16);
    } else {
        *y.add(i) = 0;
    }
}

/// A reduction by shuffles needs no memory and no barrier.
//@ right, 1 x 32: in 32, out 1
#[kernel]
pub unsafe fn reduction_by_shuffles(x: *const u32, y: *mut u32) {
    let i = tid();
    let sum = warp::reduce_sum(*x.add(i));
    if i == 0 {
        *y = sum;
    }
}
