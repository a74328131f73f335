//! The stack of a thread.

use core::mem::MaybeUninit;
use cuda_std::kernel;

use crate::ui::device::tid;

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn array_on_the_stack_never_written(y: *mut u32) {
    let mut array = [MaybeUninit::<u32>::uninit(); 8];
    let array = array.as_mut_ptr().cast::<u32>();
    *y.add(tid()) = array.add(tid() % 8).read_volatile(); //~ unwritten-read
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn array_on_the_stack_half_written(x: *const u32, y: *mut u32) {
    let mut array = [MaybeUninit::<u32>::uninit(); 8];
    let array = array.as_mut_ptr().cast::<u32>();
    for i in 0..4 {
        array.add(i).write_volatile(*x.add(i));
    }
    *y.add(tid()) = array.add(tid() % 8).read_volatile(); //~ unwritten-read
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn array_on_the_stack_written(x: *const u32, y: *mut u32) {
    let mut array = [MaybeUninit::<u32>::uninit(); 8];
    let array = array.as_mut_ptr().cast::<u32>();
    for i in 0..8 {
        array.add(i).write_volatile(*x.add(i));
    }
    *y.add(tid()) = array.add(tid() % 8).read_volatile();
}

/// Odd lanes come here without having written.
//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn one_branch_forgets_to_write(y: *mut u32) {
    let mut value = MaybeUninit::<u32>::uninit();
    let value = value.as_mut_ptr();
    if tid() % 2 == 0 {
        value.write_volatile(1);
    }
    *y.add(tid()) = value.read_volatile(); //~ unwritten-read
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn both_branches_write(y: *mut u32) {
    let mut value = MaybeUninit::<u32>::uninit();
    let value = value.as_mut_ptr();
    if tid() % 2 == 0 {
        value.write_volatile(1);
    } else {
        value.write_volatile(2);
    }
    *y.add(tid()) = value.read_volatile();
}

/// A loop that some lanes leave at once.
//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn loop_that_may_not_run(y: *mut u32) {
    let mut last = MaybeUninit::<u32>::uninit();
    let last = last.as_mut_ptr();
    let mut i = tid();
    while i > 4 {
        last.write_volatile(i as u32);
        i /= 2;
    }
    *y.add(tid()) = last.read_volatile(); //~ unwritten-read
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn loop_that_runs_once_at_least(y: *mut u32) {
    let mut last = MaybeUninit::<u32>::uninit();
    let last = last.as_mut_ptr();
    let mut i = tid();
    loop {
        last.write_volatile(i as u32);
        i /= 2;
        if i == 0 {
            break;
        }
    }
    *y.add(tid()) = last.read_volatile();
}

/// Padding between the fields of a structure is copied with them, and never read.
//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn padding_is_copied(y: *mut u32) {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Padded {
        small: u8,
        large: u32,
    }
    let mut pair = [MaybeUninit::<Padded>::uninit(); 2];
    let pair = pair.as_mut_ptr().cast::<Padded>();
    (&raw mut (*pair).small).write_volatile(1);
    (&raw mut (*pair).large).write_volatile(2);
    *pair.add(1) = *pair;
    *y.add(tid()) = (&raw const (*pair.add(1)).large).read_volatile();
}
