//! Warps and blocks whose order decides what comes out.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{atomic, atomic_f32, bid, gid, tid};

/// Tickets are handed out in the order in which blocks come.
//@ wrong, finds schedule-dependent, 8 x 1: zero 1, out 8
#[kernel]
pub unsafe fn ticket_of_each_block(count: *mut u32, y: *mut u32) {
    *y.add(bid()) = atomic(count).fetch_add(1);
}

/// Each thread that gets a ticket writes the same to its place.
//@ right, 8 x 1: zero 1, out 8
#[kernel]
pub unsafe fn ticket_as_place(count: *mut u32, y: *mut u32) {
    let ticket = atomic(count).fetch_add(1);
    *y.add(ticket as usize) = 3 * ticket;
}

//@ wrong, finds schedule-dependent, 8 x 1: in 8, zero 1, out 8
#[kernel]
pub unsafe fn compaction_in_order_of_arrival(x: *const u32, count: *mut u32, y: *mut u32) {
    let place = atomic(count).fetch_add(1);
    *y.add(place as usize) = *x.add(bid());
}

//@ right, 8 x 1: in 8, zero 1, out 8
#[kernel]
pub unsafe fn compaction_by_index(x: *const u32, count: *mut u32, y: *mut u32) {
    atomic(count).fetch_add(1);
    *y.add(bid()) = *x.add(bid());
}

//@ wrong, finds schedule-dependent, 8 x 1: out 1
#[kernel]
pub unsafe fn last_block_wins(y: *mut u32) {
    atomic(y).store(bid() as u32);
}

//@ right, 8 x 1: zero 1, out 1
#[kernel]
pub unsafe fn largest_block_wins(count: *mut u32, y: *mut u32) {
    atomic(count).fetch_max(bid() as u32);
    if bid() == 0 {
        *y = 1;
    }
}

//@ wrong, finds schedule-dependent, 8 x 1: zero 1, out 8
#[kernel]
pub unsafe fn first_block_wins(count: *mut u32, y: *mut u32) {
    let won = atomic(count).compare_exchange(0, 1).is_ok();
    *y.add(bid()) = u32::from(won);
}

//@ right, 8 x 1: zero 8, out 8
#[kernel]
pub unsafe fn every_block_wins_its_own(count: *mut u32, y: *mut u32) {
    let won = atomic(count.add(bid())).compare_exchange(0, 1).is_ok();
    *y.add(bid()) = u32::from(won);
}

//@ wrong, finds schedule-dependent, 8 x 1: zero 1, out 8
#[kernel]
pub unsafe fn progress_of_other_blocks(count: *mut u32, y: *mut u32) {
    atomic(count).fetch_add(1);
    *y.add(bid()) = atomic(count).load();
}

//@ right, 8 x 1: zero 8, out 8
#[kernel]
pub unsafe fn progress_of_the_own_block(count: *mut u32, y: *mut u32) {
    atomic(count.add(bid())).fetch_add(1);
    *y.add(bid()) = atomic(count.add(bid())).load();
}

//@ wrong, finds schedule-dependent, 1 x 128: out 4
#[kernel]
pub unsafe fn warps_in_order_of_arrival(y: *mut u32) {
    let count = shared_array![u32; 1];
    if tid() == 0 {
        *count = 0;
    }
    sync_threads();
    if tid() % 32 == 0 {
        *y.add(tid() / 32) = atomic(count).fetch_add(1);
    }
}

//@ right, 1 x 128: out 4
#[kernel]
pub unsafe fn warps_by_their_number(y: *mut u32) {
    let count = shared_array![u32; 1];
    if tid() == 0 {
        *count = 0;
    }
    sync_threads();
    if tid() % 32 == 0 {
        atomic(count).fetch_add(1);
        *y.add(tid() / 32) = tid() as u32 / 32;
    }
}

/// Each block links itself in front of those before.
//@ wrong, finds schedule-dependent, 8 x 1: zero 1, out 8
#[kernel]
pub unsafe fn list_of_blocks(count: *mut u32, y: *mut u32) {
    *y.add(bid()) = atomic(count).swap(1 + bid() as u32);
}

/// Floating-point numbers do not add up to the same in every order.
//@ wrong, finds schedule-dependent, 3 x 1: zero 1, out 3
#[kernel]
pub unsafe fn sum_of_floats_in_order_of_arrival(count: *mut u32, y: *mut u32) {
    let own = [1.0e8, 1.0, -1.0e8][bid()];
    *y.add(bid()) = 0;
    atomic_f32(count).fetch_add(own);
    *y.add(bid()) = atomic(count).load();
}

/// Numbers that fit exactly do.
//@ right, 4 x 1: zero 1, out 4
#[kernel]
pub unsafe fn sum_of_whole_floats(count: *mut u32, y: *mut u32) {
    atomic_f32(count).fetch_add(gid() as f32);
    *y.add(bid()) = 1;
}
