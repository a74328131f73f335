//! Global memory: ends, beginnings, lifetimes and alignment.

use cuda_std::kernel;
use cuda_std::memory::U32x4;

use crate::ui::device::{atomic, bid, gid, tid};

//@ wrong, 1 x 128: zero 100, 100
#[kernel]
pub unsafe fn guard_off_by_one(y: *mut u32, n: u32) {
    let i = gid();
    if i <= n as usize {
        *y.add(i) = 1; //~ illegal-address
    }
}

//@ right, 1 x 128: zero 100, 100
#[kernel]
pub unsafe fn guard(y: *mut u32, n: u32) {
    let i = gid();
    if i < n as usize {
        *y.add(i) = 1;
    }
}

//@ wrong, 3 x 64: zero 150
#[kernel]
pub unsafe fn last_block_without_guard(y: *mut u32) {
    *y.add(gid()) = 1; //~ illegal-address
}

//@ right, 3 x 50: zero 150
#[kernel]
pub unsafe fn blocks_that_fit_without_guard(y: *mut u32) {
    *y.add(gid()) = 1;
}

//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn halo_before_the_start(x: *const u32, y: *mut u32) {
    let i = gid();
    *y.add(i) = *x.wrapping_add(i).wrapping_sub(1) + *x.add(i); //~ illegal-address
}

//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn halo_behind_the_end(x: *const u32, y: *mut u32) {
    let i = gid();
    *y.add(i) = *x.add(i) + *x.add(i + 1); //~ illegal-address
}

//@ right, 1 x 64: in 66, zero 64
#[kernel]
pub unsafe fn halo_within(x: *const u32, y: *mut u32) {
    let i = gid();
    *y.add(i) = *x.add(i) + *x.add(i + 1) + *x.add(i + 2);
}

//@ right, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn halo_clamped(x: *const u32, y: *mut u32) {
    let i = gid();
    *y.add(i) = *x.add(i.saturating_sub(1)) + *x.add(i) + *x.add((i + 1).min(63));
}

//@ wrong, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn stride_of_two(x: *const u32, y: *mut u32) {
    *y.add(gid()) = *x.add(2 * gid()); //~ illegal-address
}

//@ right, 1 x 64: in 127, zero 64
#[kernel]
pub unsafe fn stride_of_two_within(x: *const u32, y: *mut u32) {
    *y.add(gid()) = *x.add(2 * gid());
}

/// Rows of 8 and columns of 16 exchanged: the index of a matrix of 16 columns.
//@ wrong, 8 x 16: zero 128
#[kernel]
pub unsafe fn rows_and_columns_exchanged(y: *mut u32) {
    *y.add(16 * tid() + bid()) = 1; //~ illegal-address
}

//@ right, 8 x 16: zero 128
#[kernel]
pub unsafe fn rows_and_columns(y: *mut u32) {
    *y.add(16 * bid() + tid()) = 1;
}

//@ wrong, 1 x 32: freed 32
#[kernel]
pub unsafe fn write_after_free(y: *mut u32) {
    *y.add(tid()) = 1; //~ illegal-address
}

//@ wrong, 1 x 32: freed 32, zero 32
#[kernel]
pub unsafe fn read_after_free(x: *const u32, y: *mut u32) {
    *y.add(tid()) = *x.add(tid()); //~ illegal-address
}

//@ wrong, 1 x 32: null
#[kernel]
pub unsafe fn null_pointer(y: *mut u32) {
    *y.wrapping_add(tid()) = 1; //~ illegal-address
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn index_below_zero(y: *mut u32) {
    let before = (tid() as u32).wrapping_sub(8) as usize;
    *y.wrapping_add(before) = 1; //~ illegal-address
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn index_below_zero_wrapped(y: *mut u32) {
    let before = (tid() as u32).wrapping_sub(8) % 32;
    *y.add(before as usize) = 1;
}

//@ wrong, 1 x 32: in 64, zero 32
#[kernel]
pub unsafe fn misaligned_double_word(x: *const u32, y: *mut u32) {
    let words = x.add(1).cast::<u64>();
    *y.add(tid()) = *words.add(tid()) as u32; //~ misaligned-address
}

//@ right, 1 x 31: in 64, zero 32
#[kernel]
pub unsafe fn aligned_double_word(x: *const u32, y: *mut u32) {
    let words = x.add(2).cast::<u64>();
    *y.add(tid()) = *words.add(tid()) as u32;
}

//@ wrong, 1 x 8: in 64, zero 8
#[kernel]
pub unsafe fn misaligned_vector(x: *const u32, y: *mut u32) {
    let vector = *x.add(2).cast::<U32x4>().add(tid()); //~ misaligned-address
    *y.add(tid()) = vector.0.iter().sum();
}

//@ right, 1 x 8: in 64, zero 8
#[kernel]
pub unsafe fn aligned_vector(x: *const u32, y: *mut u32) {
    let vector = *x.add(4).cast::<U32x4>().add(tid());
    *y.add(tid()) = vector.0.iter().sum();
}

/// The last vector begins within and ends without.
//@ wrong, 1 x 8: in 30, zero 8
#[kernel]
pub unsafe fn vector_half_behind_the_end(x: *const u32, y: *mut u32) {
    let vector = *x.cast::<U32x4>().add(tid()); //~ illegal-address
    *y.add(tid()) = vector.0.iter().sum();
}

//@ wrong, 1 x 32: zero 16
#[kernel]
pub unsafe fn atomic_behind_the_end(counts: *mut u32) {
    atomic(counts.add(tid())).fetch_add(1); //~ illegal-address
}

//@ right, 1 x 32: zero 16
#[kernel]
pub unsafe fn atomic_within(counts: *mut u32) {
    atomic(counts.add(tid() % 16)).fetch_add(1);
}

/// The end of one allocation is not the beginning of the next.
//@ wrong, 1 x 64: zero 32, zero 32
#[kernel]
pub unsafe fn from_one_allocation_into_another(y: *mut u32, _z: *mut u32) {
    *y.add(tid()) = 1; //~ illegal-address
}
