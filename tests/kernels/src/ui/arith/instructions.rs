//! Instructions whose operands leave the result open.

use cuda_std::kernel;

use super::device::{div_s32, div_u32, div_u64, rem_s64, rem_u32, shl_b32, shl_b64, shr_s32, shr_u32, shr_u64, tid};

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn division_by_zero(x: *const u32, y: *mut u32) {
    *y.add(tid()) = div_u32!(100, *x.add(tid())); //~ division-by-zero
}

//@ right, 1 x 32: in 33, zero 32
#[kernel]
pub unsafe fn division_by_others(x: *const u32, y: *mut u32) {
    *y.add(tid()) = div_u32!(100, *x.add(tid() + 1));
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn remainder_by_zero(x: *const u32, y: *mut u32) {
    *y.add(tid()) = rem_u32!(100, *x.add(tid())); //~ division-by-zero
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn remainder_by_one_at_least(x: *const u32, y: *mut u32) {
    *y.add(tid()) = rem_u32!(100, (*x.add(tid())).max(1));
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn signed_division_by_zero(x: *const u32, y: *mut u32) {
    *y.add(tid()) = div_s32!(-100, *x.add(tid()) as i32 - 7) as u32; //~ division-by-zero
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn signed_division_by_others(x: *const u32, y: *mut u32) {
    *y.add(tid()) = div_s32!(-100, 2 * *x.add(tid()) as i32 - 7) as u32;
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn wide_division_by_zero(y: *mut u32) {
    *y.add(tid()) = div_u64!(1 << 40, (tid() as u64) << 32) as u32; //~ division-by-zero
}

/// The low word alone would be zero.
//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn wide_division_by_others(y: *mut u32) {
    *y.add(tid()) = div_u64!(1 << 40, (tid() as u64 + 1) << 32) as u32;
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn wide_signed_remainder_by_zero(y: *mut u32) {
    *y.add(tid()) = rem_s64!(-5, tid() as i64 - 31) as u32; //~ division-by-zero
}

/// Only lanes that divide are looked at.
//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn division_behind_a_test(x: *const u32, y: *mut u32) {
    let divisor = *x.add(tid());
    if divisor != 0 {
        *y.add(tid()) = div_u32!(100, divisor);
    }
}

/// A number for each of 64 bits, in a word of 32.
//@ wrong, 1 x 64: zero 64
#[kernel]
pub unsafe fn shift_left_beyond_the_width(y: *mut u32) {
    *y.add(tid()) = shl_b32!(1, tid() as u32); //~ shift-beyond-width
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn shift_left_within_the_width(y: *mut u32) {
    *y.add(tid()) = shl_b32!(1, tid() as u32);
}

/// The rest of a word: none of it is left for lane 0.
//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn shift_right_by_the_width(y: *mut u32) {
    *y.add(tid()) = shr_u32!(u32::MAX, 32 - tid() as u32); //~ shift-beyond-width
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn shift_right_below_the_width(y: *mut u32) {
    *y.add(tid()) = shr_u32!(u32::MAX, 31 - tid() as u32);
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn signed_shift_beyond_the_width(y: *mut u32) {
    *y.add(tid()) = shr_s32!(-1, 8 * tid() as u32) as u32; //~ shift-beyond-width
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn signed_shift_within_the_width(y: *mut u32) {
    *y.add(tid()) = shr_s32!(-1, tid() as u32) as u32;
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn wide_shift_beyond_the_width(y: *mut u32) {
    *y.add(tid()) = shl_b64!(1, 4 * tid() as u32) as u32; //~ shift-beyond-width
}

/// Half of these would be too far for a word of 32 bits.
//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn wide_shift_within_the_width(y: *mut u32) {
    *y.add(tid()) = shr_u64!(u64::MAX, 2 * tid() as u32) as u32;
}

/// The amount is negative, which is a very large number.
//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn shift_by_a_negative_amount(x: *const u32, y: *mut u32) {
    *y.add(tid()) = shl_b32!(1, (*x.add(tid())).wrapping_sub(4)); //~ shift-beyond-width
}

//@ right, 1 x 64: zero 64
#[kernel]
pub unsafe fn shift_by_a_masked_amount(y: *mut u32) {
    *y.add(tid()) = shl_b32!(1, tid() as u32 & 31);
}
