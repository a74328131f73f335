//! Races of atomic operations with others, by scope, and of what is protected by them.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{atomic, bid, gid, tid};

//@ wrong, 2 x 64: zero 1
#[kernel]
pub unsafe fn counter_without_atomics(count: *mut u32) {
    *count += 1; //~ data-race
}

//@ right, 2 x 64: zero 1
#[kernel]
pub unsafe fn counter_with_atomics(count: *mut u32) {
    atomic(count).fetch_add(1);
}

//@ wrong, 2 x 64: zero 1
#[kernel]
pub unsafe fn counter_of_block_scope_for_two_blocks(count: *mut u32) {
    atomic(count).block().fetch_add(1, AcqRel); //~ scoped-race
}

//@ right, 2 x 64: zero 2
#[kernel]
pub unsafe fn counter_of_block_scope_for_each_block(count: *mut u32) {
    atomic(count.add(bid())).block().fetch_add(1, AcqRel);
}

//@ right, 2 x 64: zero 1
#[kernel]
pub unsafe fn counter_of_device_scope_for_two_blocks(count: *mut u32) {
    atomic(count).device().fetch_add(1, AcqRel);
}

/// The one operation of device scope does not help the others.
//@ wrong, 2 x 32: zero 1
#[kernel]
pub unsafe fn scopes_mixed(largest: *mut u32) {
    if bid() == 0 {
        atomic(largest).device().fetch_max(tid() as u32, AcqRel); //~ scoped-race
    } else {
        atomic(largest).block().fetch_max(tid() as u32, AcqRel); //~ scoped-race
    }
}

//@ wrong, 1 x 64: zero 1, out 64
#[kernel]
pub unsafe fn atomic_beside_plain_read(count: *mut u32, y: *mut u32) {
    atomic(count).fetch_add(1); //~ data-race
    *y.add(tid()) = *count; //~ data-race
}

//@ right, 1 x 64: zero 1, out 64
#[kernel]
pub unsafe fn atomic_then_barrier_then_plain_read(count: *mut u32, y: *mut u32) {
    atomic(count).fetch_add(1);
    sync_threads();
    *y.add(tid()) = *count;
}

//@ wrong, 2 x 32: in 64, zero 1
#[kernel]
pub unsafe fn atomic_beside_plain_write(x: *const u32, largest: *mut u32) {
    if gid() == 5 {
        *largest = 7; //~ data-race
    } else {
        atomic(largest).fetch_max(*x.add(gid())); //~ data-race
    }
}

/// Between the test and the write another thread may have written more.
//@ wrong, 2 x 32: in 64, zero 1
#[kernel]
pub unsafe fn maximum_by_test_and_write(x: *const u32, largest: *mut u32) {
    let own = *x.add(gid());
    let before = *largest; //~ data-race
    if own > before {
        *largest = own; //~ data-race, data-race? 2
    }
}

//@ right, 2 x 32: in 64, zero 1
#[kernel]
pub unsafe fn maximum_by_atomic(x: *const u32, largest: *mut u32) {
    atomic(largest).fetch_max(*x.add(gid()));
}

/// Taking the lock orders nothing.
//@ wrong, 4 x 1: zero 1, zero 1
#[kernel]
pub unsafe fn lock_without_acquire(lock: *mut u32, sum: *mut u32) {
    while atomic(lock).device().compare_exchange(0, 1, Relaxed).is_err() {}
    *sum += 1; //~ data-race
    atomic(lock).device().store(0, Release);
}

/// Giving it back orders nothing.
//@ wrong, 4 x 1: zero 1, zero 1
#[kernel]
pub unsafe fn lock_without_release(lock: *mut u32, sum: *mut u32) {
    while atomic(lock).device().compare_exchange(0, 1, Acquire).is_err() {}
    *sum += 1; //~ data-race
    atomic(lock).device().store(0, Relaxed);
}

//@ right, 4 x 1: zero 1, zero 1
#[kernel]
pub unsafe fn lock_with_acquire_and_release(lock: *mut u32, sum: *mut u32) {
    while atomic(lock).device().compare_exchange(0, 1, Acquire).is_err() {}
    *sum += 1;
    atomic(lock).device().store(0, Release);
}

//@ wrong, 4 x 1: zero 1, zero 1
#[kernel]
pub unsafe fn lock_of_block_scope_for_four_blocks(lock: *mut u32, sum: *mut u32) {
    while atomic(lock).block().compare_exchange(0, 1, Acquire).is_err() {} //~ scoped-race, scoped-race? 2
    *sum += 1; //~ data-race
    atomic(lock).block().store(0, Release); //~ scoped-race, scoped-race? 3
}

//@ right, 1 x 8: out 1
#[kernel]
pub unsafe fn lock_of_block_scope_for_one_block(y: *mut u32) {
    let shared = shared_array![u32; 2];
    let (lock, sum) = (shared, shared.add(1));
    if tid() == 0 {
        *lock = 0;
        *sum = 0;
    }
    sync_threads();
    while atomic(lock).block().compare_exchange(0, 1, Acquire).is_err() {}
    *sum += 1;
    atomic(lock).block().store(0, Release);
    sync_threads();
    if tid() == 0 {
        *y = *sum;
    }
}

/// A number for each thread, and no two the same.
//@ right, 2 x 32: in 64, zero 1, out 64
#[kernel]
pub unsafe fn places_by_atomic(x: *const u32, count: *mut u32, y: *mut u32) {
    let place = atomic(count).fetch_add(1);
    *y.add(place as usize) = *x.add(gid());
}

//@ wrong, 2 x 32: in 64, zero 1, zero 64
#[kernel]
pub unsafe fn places_by_load_and_store(x: *const u32, count: *mut u32, y: *mut u32) {
    let place = atomic(count).load(); //~ lost-update
    atomic(count).store(place + 1); //~ lost-update
    *y.add(place as usize) = *x.add(gid()); //~ data-race
}
