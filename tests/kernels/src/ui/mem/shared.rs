//! Shared memory and the stack: symbols, dynamic sizes, alignment.

use core::mem::MaybeUninit;
use cuda_std::kernel;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::shared_array;
use cuda_std::sync::sync_threads;

use crate::ui::device::tid;

//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn shared_array_too_short(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 48];
    *tile.add(tid()) = *x.add(tid()); //~ illegal-address
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid());
}

//@ right, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn shared_array_long_enough(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(tid()) = *x.add(tid());
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid());
}

/// The halo of the last thread lies in the next array.
//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn from_one_shared_array_into_another(x: *const u32, y: *mut u32) {
    let first = shared_array![u32; 64];
    let second = shared_array![u32; 64];
    *first.add(tid()) = *x.add(tid());
    *second.add(tid()) = *x.add(63 - tid());
    sync_threads();
    *y.add(tid()) = *first.add(tid() + 1) + *second.add(tid()); //~ illegal-address
}

//@ right, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn two_shared_arrays(x: *const u32, y: *mut u32) {
    let first = shared_array![u32; 64];
    let second = shared_array![u32; 64];
    *first.add(tid()) = *x.add(tid());
    *second.add(tid()) = *x.add(63 - tid());
    sync_threads();
    *y.add(tid()) = *first.add((tid() + 1).min(63)) + *second.add(tid());
}

//@ wrong, 1 x 64, shared 128: in 64, zero 64
#[kernel]
pub unsafe fn too_little_dynamic_shared_memory(x: *const u32, y: *mut u32) {
    let tile = dynamic_shared_mem::<u32>();
    *tile.add(tid()) = *x.add(tid()); //~ illegal-address
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid());
}

//@ right, 1 x 64, shared 256: in 64, zero 64
#[kernel]
pub unsafe fn enough_dynamic_shared_memory(x: *const u32, y: *mut u32) {
    let tile = dynamic_shared_mem::<u32>();
    *tile.add(tid()) = *x.add(tid());
    sync_threads();
    *y.add(tid()) = *tile.add(63 - tid());
}

//@ wrong, 1 x 32: in 64, zero 32
#[kernel]
pub unsafe fn misaligned_in_shared_memory(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    *tile.add(2 * tid()) = *x.add(tid());
    *tile.add(2 * tid() + 1) = *x.add(tid());
    sync_threads();
    let other = (tid() + 1) % 31;
    *y.add(tid()) = *tile.add(2 * other + 1).cast::<u64>() as u32; //~ misaligned-address
}

//@ right, 1 x 32: in 64, zero 32
#[kernel]
pub unsafe fn aligned_in_shared_memory(x: *const u32, y: *mut u32) {
    let tile = shared_array![u64; 32].cast::<u32>();
    *tile.add(2 * tid()) = *x.add(tid());
    *tile.add(2 * tid() + 1) = *x.add(tid());
    sync_threads();
    let other = (tid() + 1) % 31;
    *y.add(tid()) = *tile.add(2 * other).cast::<u64>() as u32;
}

/// The pointer outlives nothing here: it is of another space than it is taken for.
//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn offset_in_shared_memory_as_pointer(y: *mut u32) {
    let tile = shared_array![u32; 32];
    *tile.add(tid()) = 3;
    let offset = 4 * tid();
    *y.add(tid()) = *core::ptr::with_exposed_provenance::<u32>(offset); //~ illegal-address
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn stack_behind_the_array(x: *const u32, y: *mut u32) {
    let mut array = [MaybeUninit::<u32>::uninit(); 8];
    let array = array.as_mut_ptr().cast::<u32>();
    for i in 0..8 {
        array.add(i).write_volatile(*x.add(i));
    }
    let far = 4096 * (tid() + 1);
    *y.add(tid()) = array.wrapping_add(far).read_volatile(); //~ illegal-address
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn stack_within_the_array(x: *const u32, y: *mut u32) {
    let mut array = [MaybeUninit::<u32>::uninit(); 8];
    let array = array.as_mut_ptr().cast::<u32>();
    for i in 0..8 {
        array.add(i).write_volatile(*x.add(i));
    }
    *y.add(tid()) = array.add(tid() % 8).read_volatile();
}
