//! Errors that Rust itself detects: the thread panics, with the source line.

use cuda_std::kernel;

use super::device::tid;

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn quotient_by_zero(x: *const u32, y: *mut u32) {
    *y.add(tid()) = 100 / *x.add(tid()); //~ panic
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn quotient_checked(x: *const u32, y: *mut u32) {
    *y.add(tid()) = 100_u32.checked_div(*x.add(tid())).unwrap_or(0);
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn smallest_number_by_minus_one(x: *const u32, y: *mut u32) {
    let divisor = *x.add(tid()) as i32 - 5;
    if divisor != 0 {
        *y.add(tid()) = (i32::MIN / divisor) as u32; //~ panic
    }
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn smallest_number_wrapping(x: *const u32, y: *mut u32) {
    let divisor = *x.add(tid()) as i32 - 5;
    if divisor != 0 {
        *y.add(tid()) = i32::MIN.wrapping_div(divisor) as u32;
    }
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn difference_below_zero(x: *const u32, y: *mut u32) {
    *y.add(tid()) = (*x.add(tid())).checked_sub(3).expect("x is 3 at least"); //~ panic
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn difference_saturating(x: *const u32, y: *mut u32) {
    *y.add(tid()) = (*x.add(tid())).saturating_sub(3);
}

//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn index_behind_the_end(x: *const u32, y: *mut u32) {
    let x = core::slice::from_raw_parts(x, 32);
    *y.add(tid()) = x[tid() + 1]; //~ panic
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn index_within(x: *const u32, y: *mut u32) {
    let x = core::slice::from_raw_parts(x, 32);
    *y.add(tid()) = x[31 - tid()];
}
