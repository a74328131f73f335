//! Barriers of a block.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{bar_arrive, bar_sync, tid};

//@ wrong, missed, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_for_even_lanes(y: *mut u32) {
    let i = tid();
    if i % 2 == 0 {
        *y.add(i) = 1;
        sync_threads(); //~ divergent-barrier
    }
    *y.add(i) += 2;
}

//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_behind_the_branch_for_even_lanes(y: *mut u32) {
    let i = tid();
    if i % 2 == 0 {
        *y.add(i) = 1;
    }
    sync_threads();
    *y.add(i) += 2;
}

//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_in_both_branches(y: *mut u32) {
    let i = tid();
    if i % 2 == 0 {
        *y.add(i) = 1;
        sync_threads(); //~ divergent-barrier
        *y.add(i) += 2;
    } else {
        *y.add(i) = 3;
        sync_threads(); //~ divergent-barrier
        *y.add(i) += 4;
    }
}

/// All threads of the block take the same branch.
//@ right, 1 x 64: zero 64, 5
#[kernel]
pub unsafe fn barrier_in_a_uniform_branch(y: *mut u32, n: u32) {
    if n > 3 {
        *y.add(tid()) = 1;
        sync_threads();
    }
    *y.add(tid()) += 2;
}

//@ wrong, missed, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_in_a_divergent_loop(y: *mut u32) {
    for step in 0..tid() % 4 {
        *y.add(tid()) += step as u32;
        sync_threads(); //~ divergent-barrier
    }
}

//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_in_a_uniform_loop(y: *mut u32) {
    for step in 0..4 {
        if step < tid() % 4 {
            *y.add(tid()) += step as u32;
        }
        sync_threads();
    }
}

/// Each warp has its own number of steps, and all of its lanes the same.
//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_in_a_loop_of_each_warp(y: *mut u32) {
    for step in 0..1 + tid() / 32 {
        *y.add(tid()) += step as u32;
        sync_threads(); //~ exit-before-barrier
    }
}

/// A lane leaves the loop as soon as it has found something.
//@ wrong, missed, 1 x 32: in 128, zero 32
#[kernel]
pub unsafe fn break_before_the_barrier(x: *const u32, y: *mut u32) {
    let mut step = 0;
    while step < 4 {
        if (*x.add(32 * step + tid())).is_multiple_of(7) {
            break;
        }
        *y.add(tid()) += 1;
        sync_threads(); //~ divergent-barrier
        step += 1;
    }
}

//@ right, 1 x 32: in 128, zero 32
#[kernel]
pub unsafe fn found_and_still_at_the_barrier(x: *const u32, y: *mut u32) {
    let mut found = false;
    for step in 0..4 {
        found |= (*x.add(32 * step + tid())).is_multiple_of(7);
        if !found {
            *y.add(tid()) += 1;
        }
        sync_threads();
    }
}

//@ right, 1 x 128: in 128, zero 128, 100
#[kernel]
pub unsafe fn early_return_before_a_barrier(x: *const u32, y: *mut u32, n: u32) {
    let tile = shared_array![u32; 128];
    let i = tid();
    if i >= n as usize {
        return;
    }
    *tile.add(i) = *x.add(i);
    sync_threads(); //~ exit-before-barrier
    *y.add(i) = *tile.add(n as usize - 1 - i);
}

//@ right, 1 x 128: in 128, zero 128, 100
#[kernel]
pub unsafe fn return_behind_the_last_barrier(x: *const u32, y: *mut u32, n: u32) {
    let tile = shared_array![u32; 128];
    let i = tid();
    if i < n as usize {
        *tile.add(i) = *x.add(i);
    }
    sync_threads();
    if i >= n as usize {
        return;
    }
    *y.add(i) = *tile.add(n as usize - 1 - i);
}

//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn whole_warp_returns_before_a_barrier(y: *mut u32) {
    if tid() >= 32 {
        return;
    }
    *y.add(tid()) = 1;
    sync_threads(); //~ exit-before-barrier
    *y.add(tid()) += 1;
}

//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_for_more_threads_than_there_are(y: *mut u32) {
    *y.add(tid()) = 1;
    bar_sync!(1, 96); //~ synchronisation
    *y.add(tid()) += 1;
}

//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn barrier_for_as_many_threads_as_there_are(y: *mut u32) {
    *y.add(tid()) = 1;
    bar_sync!(1, 64);
    *y.add(tid()) += 1;
}

//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn warps_do_not_agree_on_the_count(y: *mut u32) {
    *y.add(tid()) = 1;
    bar_sync!(1, 64 + 32 * (tid() as u32 / 32)); //~ synchronisation
    *y.add(tid()) += 1;
}

//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn count_that_is_no_multiple_of_a_warp(y: *mut u32) {
    *y.add(tid()) = 1;
    bar_sync!(1, 50); //~ synchronisation
    *y.add(tid()) += 1;
}

//@ wrong, 1 x 64: zero 64, 16
#[kernel]
pub unsafe fn barrier_sixteen(y: *mut u32, id: u32) {
    *y.add(tid()) = 1;
    bar_sync!(id, 64); //~ synchronisation
    *y.add(tid()) += 1;
}

//@ right, 1 x 64: zero 64, 15
#[kernel]
pub unsafe fn barrier_fifteen(y: *mut u32, id: u32) {
    *y.add(tid()) = 1;
    bar_sync!(id, 64);
    *y.add(tid()) += 1;
}

/// Each warp waits at the barrier that the other comes to next.
//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn barriers_in_opposite_orders(y: *mut u32) {
    let warp = tid() as u32 / 32;
    bar_sync!(1 + warp, 64); //~ deadlock
    *y.add(tid()) = 1;
    bar_sync!(2 - warp, 64);
}

//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn barriers_in_one_order(y: *mut u32) {
    bar_sync!(1, 64);
    *y.add(tid()) = 1;
    bar_sync!(2, 64);
}

/// The producer does not wait until its first items are taken.
//@ wrong, sometimes, 1 x 64: zero 64
#[kernel]
pub unsafe fn producer_arrives_twice(y: *mut u32) {
    if tid() < 32 {
        bar_arrive!(1, 64); //~ repeated-arrival
        bar_arrive!(1, 64); //~ repeated-arrival
    } else {
        bar_sync!(1, 64); //~ synchronisation? 1
        *y.add(tid()) = 1;
        bar_sync!(1, 64); //~ deadlock? 1
    }
}

//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn producer_and_consumer_in_turns(y: *mut u32) {
    for _ in 0..2 {
        if tid() < 32 {
            bar_arrive!(1, 64);
            bar_sync!(2, 64);
        } else {
            bar_sync!(1, 64);
            *y.add(tid()) += 1;
            bar_arrive!(2, 64);
        }
    }
}

//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn arrival_that_no_thread_waits_for(y: *mut u32) {
    *y.add(tid()) = 1;
    if tid() < 32 {
        bar_arrive!(1, 64); //~ abandoned-barrier
    }
}
