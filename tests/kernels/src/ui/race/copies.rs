//! Asynchronous copies: accesses while a copy is pending.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{cp_async, cp_async_commit, cp_async_wait_all, cp_async_wait_all_but_one, tid};

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn copy_not_waited_for(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid())); //~ pending-copy
    *y.add(tid()) = *tile.add(tid()); //~ pending-copy, unwritten-read?
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn copy_waited_for_by_its_own_thread(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid()));
    cp_async_wait_all!();
    *y.add(tid()) = *tile.add(tid());
}

/// A barrier orders threads, not their copies.
//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn barrier_without_wait(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    cp_async!(tile.add(tid()), x.add(tid())); //~ pending-copy
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid()); //~ pending-copy, unwritten-read?
}

/// The wait is for the thread's own copies, not for those of others.
//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn wait_without_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    cp_async!(tile.add(tid()), x.add(tid())); //~ data-race? 1, pending-copy? 2
    cp_async_wait_all!();
    *y.add(tid()) = *tile.add(63 - tid()); //~ data-race? 1, pending-copy? 2, unwritten-read?
}

/// The wait comes behind the barrier: others may read before their copies' owner has waited.
//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn wait_behind_the_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    cp_async!(tile.add(tid()), x.add(tid())); //~ pending-copy
    sync_threads();
    cp_async_wait_all!();
    *y.add(tid()) = *tile.add(63 - tid()); //~ pending-copy, unwritten-read?
}

//@ right, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn wait_before_the_barrier(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    cp_async!(tile.add(tid()), x.add(tid()));
    cp_async_wait_all!();
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid());
}

/// The last group may still be under way.
//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn wait_for_the_wrong_group(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    cp_async!(tile.add(tid()), x.add(tid())); //~ pending-copy
    cp_async_commit!();
    cp_async_wait_all_but_one!();
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid()); //~ pending-copy, unwritten-read?
}

//@ right, 1 x 64: in 128, zero 64
#[kernel]
pub unsafe fn wait_for_the_first_of_two_groups(x: *const u32, y: *mut u32) {
    let tiles = shared_array![u32; 128];
    cp_async!(tiles.add(tid()), x.add(tid()));
    cp_async_commit!();
    cp_async!(tiles.add(64 + tid()), x.add(64 + tid()));
    cp_async_commit!();
    cp_async_wait_all_but_one!();
    sync_threads();
    *y.add(tid()) = *tiles.add(63 - tid());
    cp_async_wait_all!();
}

/// The source changes while it is copied.
//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn source_overwritten_during_the_copy(x: *mut u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid())); //~ pending-copy
    *x.add(tid()) = 0; //~ pending-copy
    cp_async_wait_all!();
    *y.add(tid()) = *tile.add(tid());
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn source_overwritten_after_the_copy(x: *mut u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid()));
    cp_async_wait_all!();
    *x.add(tid()) = 0;
    *y.add(tid()) = *tile.add(tid());
}
