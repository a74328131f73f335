//! Barriers and fences.
//!
//! Barrier 0 is [`sync_threads`]; the others belong to [`Shared`](crate::shared::Shared) memory.

use crate::device;

/// Waits until every thread of the block is here: CUDA's `__syncthreads()`. What any of them wrote
/// before, all of them see afterwards.
///
/// Every thread of the block must come to the same call; in a branch that only some take, the
/// block hangs. The software device reports it.
///
/// `bar.sync 0`; PTX 1.0.
#[inline(always)]
pub fn sync_threads() {
    device::barrier_sync_aligned(0);
}

/// [`sync_threads`], and the number of threads for which `predicate` holds.
///
/// `bar.red.popc.u32`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn sync_threads_count(predicate: bool) -> u32 {
    device::barrier_count(0, predicate)
}

/// [`sync_threads`], and whether `predicate` holds for all threads.
///
/// `bar.red.and.pred`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn sync_threads_and(predicate: bool) -> bool {
    device::barrier_and(0, predicate)
}

/// [`sync_threads`], and whether `predicate` holds for any thread.
///
/// `bar.red.or.pred`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn sync_threads_or(predicate: bool) -> bool {
    device::barrier_or(0, predicate)
}

/// Waits until the lanes of `mask` are here: CUDA's `__syncwarp(mask)`. The calling lane must be
/// one of them.
///
/// `bar.warp.sync`; PTX 6.0, sm_30.
#[inline(always)]
pub fn sync_warp(mask: u32) {
    device::bar_warp_sync(mask);
}

/// What this thread wrote before, the block sees before what it writes afterwards: CUDA's
/// `__threadfence_block()`.
///
/// `membar.cta`; PTX 1.4.
#[inline(always)]
pub fn block_fence() {
    device::membar_cta();
}

/// What this thread wrote before, the whole device sees before what it writes afterwards: CUDA's
/// `__threadfence()`.
///
/// `membar.gl`; PTX 1.4.
#[inline(always)]
pub fn device_fence() {
    device::membar_gl();
}

/// What this thread wrote before, other devices and the host see before what it writes
/// afterwards: CUDA's `__threadfence_system()`.
///
/// `membar.sys`; PTX 2.0.
#[inline(always)]
pub fn system_fence() {
    device::membar_sys();
}

/// Sleeps for about this many nanoseconds, at most a millisecond, as one does in a loop that waits
/// for another block.
///
/// `nanosleep.u32`; PTX 6.3, sm_70.
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    device::nanosleep(nanoseconds);
}
