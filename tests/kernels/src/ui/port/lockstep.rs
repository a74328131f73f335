//! Lanes that count on each other's progress without waiting for it.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::{sync_threads, sync_warp};
use cuda_std::warp;

use crate::ui::device::{atomic, tid};

/// Volatile accesses are in order within a thread, and not between threads: the neighbour may not have written yet.
//@ wrong, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn volatile_neighbour(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    tile.add(tid()).write_volatile(*x.add(tid()));
    *y.add(tid()) = tile.add(tid() ^ 1).read_volatile(); //~ unwritten-read
}

//@ right, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn volatile_neighbour_with_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    tile.add(tid()).write_volatile(*x.add(tid()));
    sync_warp(u32::MAX);
    *y.add(tid()) = tile.add(tid() ^ 1).read_volatile();
}

/// The last warp of a reduction, as it was written before Volta.
//@ wrong, finds schedule-dependent, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn volatile_reduction_of_the_last_warp(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 64];
    sums.add(tid()).write_volatile(*x.add(tid()));
    sync_threads();
    if tid() < 32 {
        let mut half = 32;
        while half > 0 {
            let other = sums.add(tid() + half).read_volatile();
            sums.add(tid()).write_volatile(sums.add(tid()).read_volatile() + other);
            half /= 2;
        }
        if tid() == 0 {
            *y = sums.read_volatile();
        }
    }
}

//@ right, 1 x 64: in 64, out 1
#[kernel]
pub unsafe fn volatile_reduction_with_sync_warp(x: *const u32, y: *mut u32) {
    let sums = shared_array![u32; 64];
    sums.add(tid()).write_volatile(*x.add(tid()));
    sync_threads();
    if tid() < 32 {
        let mut half = 32;
        while half > 0 {
            let other = sums.add(tid() + half).read_volatile();
            sync_warp(u32::MAX);
            sums.add(tid()).write_volatile(sums.add(tid()).read_volatile() + other);
            sync_warp(u32::MAX);
            half /= 2;
        }
        if tid() == 0 {
            *y = sums.read_volatile();
        }
    }
}

//@ wrong, finds schedule-dependent, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn volatile_leader(x: *const u32, y: *mut u32) {
    let first = shared_array![u32; 1];
    if tid() == 0 {
        *first = 0;
    }
    sync_threads();
    if tid() == 0 {
        first.write_volatile(*x + 7);
    }
    *y.add(tid()) = first.read_volatile();
}

//@ right, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn volatile_leader_with_sync_warp(x: *const u32, y: *mut u32) {
    let first = shared_array![u32; 1];
    if tid() == 0 {
        *first = 0;
    }
    sync_threads();
    if tid() == 0 {
        first.write_volatile(*x + 7);
    }
    sync_warp(u32::MAX);
    *y.add(tid()) = first.read_volatile();
}

//@ wrong, finds schedule-dependent, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn atomic_exchange_of_lanes(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    *tile.add(tid()) = 0;
    sync_threads();
    atomic(tile.add(tid())).store(*x.add(tid()) + 1);
    *y.add(tid()) = atomic(tile.add(31 - tid())).load();
}

//@ right, 1 x 32: in 32, out 32
#[kernel]
pub unsafe fn atomic_exchange_of_lanes_with_sync_warp(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    *tile.add(tid()) = 0;
    sync_threads();
    atomic(tile.add(tid())).store(*x.add(tid()) + 1);
    sync_warp(u32::MAX);
    *y.add(tid()) = atomic(tile.add(31 - tid())).load();
}

/// The set of lanes that are converged behind a loop is unspecified.
//@ wrong, finds schedule-dependent, 1 x 32: zero 32, out 32
#[kernel]
pub unsafe fn active_mask_behind_a_loop(x: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(x).fetch_add(1);
        left -= 1;
    }
    *y.add(tid()) = warp::activemask();
}

//@ right, 1 x 32: zero 32, out 32
#[kernel]
pub unsafe fn ballot_behind_a_loop(x: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(x).fetch_add(1);
        left -= 1;
    }
    *y.add(tid()) = warp::ballot(true);
}

/// Lanes that are not together each have a leader.
//@ wrong, finds schedule-dependent, 1 x 32: zero 1, out 32
#[kernel]
pub unsafe fn leaders_by_active_mask(count: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(count).fetch_add(1);
        left -= 1;
    }
    let leader = warp::activemask().trailing_zeros();
    *y.add(tid()) = leader;
}

//@ right, 1 x 32: zero 1, out 32
#[kernel]
pub unsafe fn leaders_by_ballot(count: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(count).fetch_add(1);
        left -= 1;
    }
    let leader = warp::ballot(true).trailing_zeros();
    *y.add(tid()) = leader;
}

/// Load and store are atomic, but the update as a whole is not.
//@ wrong, 1 x 32: zero 1, out 1
#[kernel]
pub unsafe fn count_by_load_and_store(count: *mut u32, y: *mut u32) {
    atomic(count).store(atomic(count).load() + 1); //~ lost-update
    sync_warp(u32::MAX);
    if tid() == 0 {
        *y = atomic(count).load();
    }
}

//@ right, 1 x 32: zero 1, out 1
#[kernel]
pub unsafe fn count_by_atomic(count: *mut u32, y: *mut u32) {
    atomic(count).fetch_add(1);
    sync_warp(u32::MAX);
    if tid() == 0 {
        *y = atomic(count).load();
    }
}

/// Load and store are atomic, but not the code between them.
//@ wrong, 1 x 32: zero 1, out 1
#[kernel]
pub unsafe fn counts_by_load_and_store_in_a_loop(count: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(count).store(atomic(count).load() + 1); //~ lost-update
        left -= 1;
    }
    sync_warp(u32::MAX);
    if tid() == 0 {
        *y = atomic(count).load();
    }
}

//@ right, 1 x 32: zero 1, out 1
#[kernel]
pub unsafe fn counts_by_atomic_in_a_loop(count: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(count).fetch_add(1);
        left -= 1;
    }
    sync_warp(u32::MAX);
    if tid() == 0 {
        *y = atomic(count).load();
    }
}

/// Lane 3 comes before the others, or not.
//@ wrong, finds schedule-dependent, 1 x 32: zero 1, zero 1, out 32
#[kernel]
pub unsafe fn flag_of_a_lane_without_wait(flag: *mut u32, count: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(count).fetch_add(1);
        left -= 1;
    }
    if tid() == 3 {
        atomic(flag).store(1);
    }
    *y.add(tid()) = atomic(flag).load();
}

//@ right, 1 x 32: zero 1, zero 1, out 32
#[kernel]
pub unsafe fn flag_of_a_lane_with_wait(flag: *mut u32, count: *mut u32, y: *mut u32) {
    let mut left = tid() % 4;
    while left > 0 {
        atomic(count).fetch_add(1);
        left -= 1;
    }
    if tid() == 3 {
        atomic(flag).store(1);
    }
    sync_warp(u32::MAX);
    *y.add(tid()) = atomic(flag).load();
}
