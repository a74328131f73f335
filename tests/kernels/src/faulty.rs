//! Faulty kernels, each with one mistake. Built with overflow checks; tests/tests/it/faults.rs launches them and
//! compares the reports, line numbers included: an additional line above a kernel changes the line numbers of
//! reports.

use cuda_std::prelude::*;

/// Writes behind the end: thread `n` of `n + 1`.
///
/// # Safety
/// None could make this right.
#[kernel]
pub unsafe fn write_behind_end(x: *mut f32) {
    let i = grid::<1>().get();
    // SAFETY: none, which is the point.
    unsafe { *x.add(i) = 1.0 };
}

/// Reads at an odd address.
///
/// # Safety
/// None could make this right.
#[kernel]
pub unsafe fn read_misaligned(x: *const u8, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        // SAFETY: none, which is the point.
        *y = unsafe { *x.add(1).cast::<f32>() };
    }
}

/// Takes an element that the slice does not have.
#[kernel]
pub fn index_behind_end(x: &[u32], mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = x[x.len() + 2];
    }
}

/// Adds one to the largest number.
#[kernel]
pub fn add_overflow(x: &[u32], mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = x[i] + 1;
    }
}

/// Asserts what does not hold.
#[kernel]
pub fn failed_assert(x: &[u32], mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        assert!(x[i] < 100, "x must be below 100");
        *y = x[i];
    }
}

/// Divides by zero.
#[kernel]
pub fn divide_by_zero(x: &[u32], mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = 100 / x[i];
    }
}

/// Reverses the order of a block's elements, without waiting until all elements are written.
///
/// # Safety
/// None could make this right.
#[kernel]
pub unsafe fn missing_barrier(x: &[u32], mut y: DisjointSlice<u32>) {
    let tile = cuda_std::shared_array![u32; 128];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: none, which is the point.
    let turned = unsafe {
        tile.add(i).write(x[i]);
        tile.add(127 - i).read()
    };
    if let Some(y) = y.own() {
        *y = turned;
    }
}

/// Reads what the kernel of another device has written. The flags between the devices order nothing.
///
/// # Safety
/// Both pointers are to memory of the other device, of as many elements as the launch has threads and of one element. The kernels of
/// both devices race.
#[kernel]
pub unsafe fn unordered_exchange(
    mut own: DisjointSlice<u32>,
    flag: &[Atomic<u32>],
    theirs: *const u32,
    their_flag: *const u32,
    mut y: DisjointSlice<u32>,
) {
    use core::sync::atomic::Ordering::Relaxed;
    if let Some(own) = own.own() {
        *own = 7;
    }
    cuda_std::sync::sync_threads();
    if thread::is_first_in_block() {
        // SAFETY: the caller's; threads of both devices use the flag as an atomic number.
        unsafe { &*their_flag.cast::<Atomic<u32>>() }.system().store(1, Relaxed);
    }
    while flag[0].system().load(Relaxed) == 0 {}
    if let Some(y) = y.own() {
        // SAFETY: inside, says the caller. The race is the point.
        *y = unsafe { theirs.add(grid::<1>().get()).read() };
    }
}
