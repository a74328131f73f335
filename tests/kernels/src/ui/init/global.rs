//! Global memory as it was allocated.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{atomic, cp_async, cp_async_wait_all, gid, malloc, tid};

//@ wrong, 1 x 64: raw 64, zero 64
#[kernel]
pub unsafe fn input_never_written(x: *const u32, y: *mut u32) {
    *y.add(gid()) = *x.add(gid()); //~ unwritten-read
}

//@ right, 1 x 64: in 64, raw 64
#[kernel]
pub unsafe fn output_never_written_before(x: *const u32, y: *mut u32) {
    *y.add(gid()) = *x.add(gid());
}

//@ wrong, 1 x 64: in 64, raw 64
#[kernel]
pub unsafe fn accumulator_without_first_value(x: *const u32, y: *mut u32) {
    *y.add(gid()) += *x.add(gid()); //~ unwritten-read
}

//@ right, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn accumulator_of_zeros(x: *const u32, y: *mut u32) {
    *y.add(gid()) += *x.add(gid());
}

//@ right, 1 x 64: in 64, raw 64
#[kernel]
pub unsafe fn accumulator_that_the_kernel_zeroes(x: *const u32, y: *mut u32) {
    let y = y.add(gid());
    y.write_volatile(0);
    y.write_volatile(y.read_volatile() + *x.add(gid()));
}

//@ wrong, 1 x 64: raw 1
#[kernel]
pub unsafe fn atomic_counter_without_first_value(count: *mut u32) {
    atomic(count).fetch_add(1); //~ unwritten-read
}

//@ wrong, 2 x 64: in 128, raw 16
#[kernel]
pub unsafe fn atomic_maximum_without_first_value(x: *const u32, largest: *mut u32) {
    atomic(largest.add(tid() % 16)).fetch_max(*x.add(gid())); //~ unwritten-read
}

//@ right, 2 x 64: in 128, zero 16
#[kernel]
pub unsafe fn atomic_maximum_of_zeros(x: *const u32, largest: *mut u32) {
    atomic(largest.add(tid() % 16)).fetch_max(*x.add(gid()));
}

/// The guard leaves the last element unwritten.
//@ wrong, 1 x 64: in 64, raw 64, zero 64
#[kernel]
pub unsafe fn one_element_left_out(x: *const u32, between: *mut u32, y: *mut u32) {
    let i = gid();
    if i < 63 {
        *between.add(i) = *x.add(i);
    }
    sync_threads();
    *y.add(i) = *between.add(63 - i); //~ unwritten-read
}

//@ right, 1 x 64: in 64, raw 64, zero 64
#[kernel]
pub unsafe fn no_element_left_out(x: *const u32, between: *mut u32, y: *mut u32) {
    let i = gid();
    *between.add(i) = *x.add(i);
    sync_threads();
    *y.add(i) = *between.add(63 - i);
}

/// The host reads 128 elements, of which the kernel writes every fourth.
//@ wrong, finds unwritten-copy, 1 x 32: out 128
#[kernel]
pub unsafe fn every_fourth_element_written(y: *mut u32) {
    *y.add(4 * tid()) = 1;
}

/// The same of every other: four bytes that were never written, as they could lie between the fields of a structure.
//@ wrong, finds unwritten-copy, 1 x 32: out 64
#[kernel]
pub unsafe fn every_other_element_written(y: *mut u32) {
    *y.add(2 * tid()) = 1;
}

//@ wrong, finds unwritten-copy, 1 x 32: out 100, 70
#[kernel]
pub unsafe fn too_few_threads_for_the_output(y: *mut u32, n: u32) {
    if gid() < n as usize {
        *y.add(gid()) = 1;
    }
}

//@ right, 1 x 32: out 100, 100
#[kernel]
pub unsafe fn threads_go_around(y: *mut u32, n: u32) {
    let mut i = gid();
    while i < n as usize {
        *y.add(i) = 1;
        i += 32;
    }
}

//@ wrong, 1 x 32: raw 32, zero 32
#[kernel]
pub unsafe fn copy_of_what_was_never_written(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 32];
    cp_async!(tile.add(tid()), x.add(tid())); //~ unwritten-read
    cp_async_wait_all!();
    sync_threads();
    *y.add(tid()) = *tile.add(31 - tid()); //~ unwritten-read? 1
}

//@ wrong, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_never_written(y: *mut u32) {
    let memory = malloc(64).cast::<u32>();
    memory.write_volatile(1);
    *y = memory.add(1).read_volatile(); //~ unwritten-read
}

//@ right, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_written(y: *mut u32) {
    let memory = malloc(64).cast::<u32>();
    memory.add(1).write_volatile(1);
    *y = memory.add(1).read_volatile();
}
