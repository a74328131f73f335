//! Memory that a kernel allocates.

use cuda_std::kernel;

use crate::ui::device::{free, malloc, tid};

//@ wrong, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_behind_the_end(y: *mut u32) {
    let memory = malloc(64).cast::<u32>();
    memory.add(16).write_volatile(1); //~ illegal-address
    *y = memory.read_volatile();
    free(memory.cast());
}

//@ right, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_within(y: *mut u32) {
    let memory = malloc(64).cast::<u32>();
    memory.add(15).write_volatile(1);
    *y = memory.add(15).read_volatile();
    free(memory.cast());
}

//@ wrong, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_read_after_free(y: *mut u32) {
    let memory = malloc(64).cast::<u32>();
    memory.write_volatile(1);
    free(memory.cast());
    *y = memory.read_volatile(); //~ illegal-address
}

//@ wrong, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_freed_twice(y: *mut u32) {
    let memory = malloc(64);
    memory.write_volatile(1);
    *y = u32::from(memory.read_volatile());
    free(memory);
    free(memory); //~ illegal-address
}

//@ wrong, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_freed_in_the_middle(y: *mut u32) {
    let memory = malloc(64);
    memory.write_volatile(1);
    *y = u32::from(memory.read_volatile());
    free(memory.add(16)); //~ illegal-address
}

/// Freeing nothing does nothing.
//@ right, 1 x 1: zero 1
#[kernel]
pub unsafe fn heap_free_of_null(y: *mut u32) {
    free(core::ptr::null_mut());
    *y = 1;
}

/// Each thread has memory of its own.
//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn heap_of_each_thread(y: *mut u32) {
    let memory = malloc(64).cast::<u32>();
    for i in 0..16 {
        memory.add(i).write_volatile(tid() as u32);
    }
    *y.add(tid()) = memory.add(tid() % 16).read_volatile();
    free(memory.cast());
}
