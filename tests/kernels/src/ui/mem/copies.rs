//! Asynchronous copies: what they read and write is accessed after the instruction, and checked all the same.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{cp_async, cp_async_wait_all, tid};

//@ wrong, 1 x 32: freed 32, zero 32
#[kernel]
pub unsafe fn copy_from_freed_memory(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid())); //~ illegal-address
    cp_async_wait_all!();
    sync_threads();
    *y.add(tid()) = *tile.add(31 - tid());
}

//@ wrong, 1 x 32: in 16, zero 32
#[kernel]
pub unsafe fn copy_from_behind_the_end(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid())); //~ illegal-address
    cp_async_wait_all!();
    sync_threads();
    *y.add(tid()) = *tile.add(31 - tid());
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn copy_to_behind_shared_memory(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 16];
    cp_async!(tile.add(tid()), x.add(tid())); //~ illegal-address
    cp_async_wait_all!();
    sync_threads();
    *y.add(tid()) = *tile.add(tid() % 16);
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn copy_within(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid()));
    cp_async_wait_all!();
    sync_threads();
    *y.add(tid()) = *tile.add(31 - tid());
}
