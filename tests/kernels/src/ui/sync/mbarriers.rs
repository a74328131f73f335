//! Barriers in shared memory.

use cuda_std::kernel;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::{mbarrier_arrive, mbarrier_init, mbarrier_inval, mbarrier_test_wait, shared_offset, tid};

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn mbarrier_initialised_twice(y: *mut u32) {
    let barrier = shared_offset!(shared_array![u64; 1].cast());
    if tid() == 0 {
        mbarrier_init!(barrier, 32); //~ mbarrier-in-use
        mbarrier_init!(barrier, 16); //~ mbarrier-in-use
    }
    *y.add(tid()) = 1;
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn mbarrier_initialised_again_after_its_end(y: *mut u32) {
    let barrier = shared_offset!(shared_array![u64; 1].cast());
    if tid() == 0 {
        mbarrier_init!(barrier, 32);
        mbarrier_inval!(barrier);
        mbarrier_init!(barrier, 16);
    }
    *y.add(tid()) = 1;
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn mbarrier_initialised_by_every_thread(y: *mut u32) {
    let barrier = shared_offset!(shared_array![u64; 1].cast());
    mbarrier_init!(barrier, 32); //~ mbarrier-in-use, data-race?, same-value-race?
    *y.add(tid()) = 1;
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn mbarrier_never_initialised(y: *mut u32) {
    let barrier = shared_offset!(shared_array![u64; 1].cast());
    let phase = mbarrier_arrive!(barrier); //~ synchronisation, unwritten-read? 1
    *y.add(tid()) = phase as u32;
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn mbarrier_with_too_many_arrivals(y: *mut u32) {
    let barrier = shared_offset!(shared_array![u64; 1].cast());
    if tid() == 0 {
        mbarrier_init!(barrier, 0); //~ synchronisation
    }
    sync_threads();
    *y.add(tid()) = 1;
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn mbarrier_for_every_thread(y: *mut u32) {
    let barrier = shared_offset!(shared_array![u64; 1].cast());
    let tile = shared_array![u32; 32];
    if tid() == 0 {
        mbarrier_init!(barrier, 32);
    }
    sync_threads();
    *tile.add(tid()) = tid() as u32;
    let phase = mbarrier_arrive!(barrier);
    while mbarrier_test_wait!(barrier, phase) == 0 {}
    *y.add(tid()) = *tile.add(31 - tid());
}

/// It does not wait for the phase.
//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn mbarrier_without_wait(y: *mut u32) {
    let barrier = shared_offset!(shared_array![u64; 1].cast());
    let tile = shared_array![u32; 64];
    if tid() == 0 {
        mbarrier_init!(barrier, 64);
    }
    sync_threads();
    *tile.add(tid()) = tid() as u32; //~ data-race
    mbarrier_arrive!(barrier);
    *y.add(tid()) = *tile.add(63 - tid()); //~ data-race, unwritten-read?
}
