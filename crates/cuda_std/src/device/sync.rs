//! Barriers and fences.
//!
//! Barrier 0 is [`sync_threads`]; the others belong to [`Shared`](crate::shared::Shared) memory.

use core::sync::atomic::Ordering;

use crate::device::intrinsics;
use crate::device::scope::Scope;

/// Waits until every thread of the block is here: CUDA's `__syncthreads()`. All threads then see the earlier writes of
/// every thread.
///
/// Every thread of the block must come to the same call; in a branch that only some take, the
/// block hangs. The software device reports it.
///
/// `bar.sync 0`; PTX 1.0.
#[inline(always)]
pub fn sync_threads() {
    intrinsics::barrier_sync_aligned(0);
}

/// [`sync_threads`], and the number of threads for which `predicate` holds.
///
/// `bar.red.popc.u32`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn sync_threads_count(predicate: bool) -> u32 {
    intrinsics::barrier_count(0, predicate)
}

/// [`sync_threads`], and whether `predicate` holds for all threads.
///
/// `bar.red.and.pred`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn sync_threads_and(predicate: bool) -> bool {
    intrinsics::barrier_and(0, predicate)
}

/// [`sync_threads`], and whether `predicate` holds for any thread.
///
/// `bar.red.or.pred`; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn sync_threads_or(predicate: bool) -> bool {
    intrinsics::barrier_or(0, predicate)
}

/// Waits until the lanes of `mask` are here: CUDA's `__syncwarp(mask)`. The calling lane must be
/// one of them.
///
/// `bar.warp.sync`; PTX 6.0, sm_30.
#[inline(always)]
pub fn sync_warp(mask: u32) {
    intrinsics::bar_warp_sync(mask);
}

/// The block sees earlier writes of this thread before its later writes: CUDA's
/// `__threadfence_block()`.
///
/// `membar.cta`; PTX 1.4.
#[inline(always)]
pub fn block_fence() {
    intrinsics::membar_cta();
}

/// The whole device sees earlier writes of this thread before its later writes: CUDA's
/// `__threadfence()`.
///
/// `membar.gl`; PTX 1.4.
#[inline(always)]
pub fn device_fence() {
    intrinsics::membar_gl();
}

/// Other devices and the host see earlier writes of this thread before its later writes: CUDA's
/// `__threadfence_system()`.
///
/// `membar.sys`; PTX 2.0.
#[inline(always)]
pub fn system_fence() {
    intrinsics::membar_sys();
}

/// Orders this thread's accesses before with those after, for all that have a part in the scope `S`: C++'s
/// `cuda::atomic_thread_fence`. A fence of `Relaxed` does nothing.
///
/// ```
/// use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
/// use cuda_std::atomic::{Block, System};
/// use cuda_std::prelude::*;
/// use cuda_std::sync::fence;
///
/// /// Each thread adds to the sum with a lock held, which is taken and given back in three ways.
/// #[kernel]
/// pub fn sum_with_a_lock(lock: &[Atomic<u32>], sum: &[Atomic<u64>]) {
///     let (lock, sum) = (&lock[0], &sum[0]);
///     while lock.device().compare_exchange(0, 1, Acquire).is_err() {}
///     sum.store(sum.load() + 1);
///     lock.device().store(0, Release);
///
///     while lock.system().fetch_or(1, AcqRel) == 1 {}
///     sum.store(sum.load() + 1);
///     lock.system().swap(0, Release);
///
///     while lock.nearest().fetch_max(1, Relaxed) == 1 {}
///     fence::<System>(SeqCst);
///     sum.store(sum.load() + 1);
///     fence::<Block>(AcqRel);
///     lock.nearest().fetch_and(0, SeqCst);
/// }
///
/// # fn main() {
/// let (mut lock, mut sum) = ([0], [0]);
/// examples::launch((1, 50), sum_with_a_lock(&mut lock, &mut sum));
/// assert_eq!(sum, [150]);
/// # let opcodes = [
/// #     "atom.acquire.gpu.global.cas.b32", "st.release.gpu.global.b32", "atom.acq_rel.sys.global.or.b32",
/// #     "atom.release.sys.global.exch.b32", "atom.global.max.u32", "fence.sc.sys", "fence.acq_rel.cta", "fence.sc.gpu",
/// # ];
/// # examples::becomes("sum_with_a_lock", &opcodes);
/// # }
/// ```
///
/// `fence.acq_rel.SCOPE`, for `SeqCst` `fence.sc.SCOPE`; PTX 6.0, sm_70.
#[inline(always)]
pub fn fence<S: Scope>(order: Ordering) {
    S::fence(order);
}

/// Sleeps for about this many nanoseconds, at most a millisecond, as one does in a loop that waits
/// for another block.
///
/// `nanosleep.u32`; PTX 6.3, sm_70.
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    intrinsics::nanosleep(nanoseconds);
}

/// Lets the next kernel of the stream begin before this one has ended, if it is declared `#[kernel(dependent)]`: its blocks are
/// placed as soon as every block of this kernel has come here or ended, and wait there until this kernel has ended and all
/// that it wrote can be seen. CUDA's `cudaTriggerProgrammaticLaunchCompletion()`.
///
/// A dependent kernel loads nothing by `ld.global.nc`, which is for memory that does not change while the kernel runs, and takes
/// no tensor maps. `launch_dependents` only says when; without it, the next kernel's blocks begin when those of this one end, one by one. So the right place is
/// where a block needs no more of the multiprocessor than the next kernel can share.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::sync::launch_dependents;
///
/// #[kernel(arch = "sm_90")]
/// pub fn double_first(x: &[f32], mut y: DisjointSlice<f32>) {
///     launch_dependents();
///     if let Some(y) = y.own() {
///         *y = 2.0 * x[grid::<1>()];
///     }
/// }
///
/// /// Its blocks may be there already while `double_first` runs; they wait for its end before the body begins.
/// #[kernel(arch = "sm_90", dependent)]
/// pub fn negate_then(x: &[f32], mut y: DisjointSlice<f32>) {
///     if let Some(y) = y.own() {
///         *y = -x[grid::<1>()];
///     }
/// }
///
/// # fn main() {
/// # let (mut y, mut z) = (vec![0.0_f32; 64], vec![0.0_f32; 64]);
/// # examples::launch((2, 32), double_first(&[1.5; 64], &mut y));
/// # examples::launch((2, 32), negate_then(&y, &mut z));
/// # assert_eq!(z, [-3.0; 64]);
/// # examples::becomes("double_first", &["griddepcontrol.launch_dependents"]);
/// # examples::becomes("negate_then", &["griddepcontrol.wait", "ld.global"]);
/// # examples::avoids("negate_then", &["ld.global.nc"]);
/// # }
/// ```
///
/// `griddepcontrol.launch_dependents`; PTX 7.8, sm_90; nothing on older devices.
#[inline(always)]
pub fn launch_dependents() {
    #[cfg(target_arch = "nvptx64")]
    if crate::cfg_arch!("sm_90") {
        // SAFETY: it accesses nothing, and those that begin wait for the end of this kernel.
        unsafe { core::arch::asm!("griddepcontrol.launch_dependents;") };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    intrinsics::device_only("launch_dependents")
}

/// Waits until the kernels ahead have ended and what they wrote can be seen. For the macro: it stands before the body of a kernel
/// that is declared `dependent`, which so reads nothing too early, and makes its end that of all before it.
///
/// `griddepcontrol.wait`; PTX 7.8, sm_90.
#[doc(hidden)]
#[inline(always)]
pub fn wait_for_prior_kernels() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it accesses nothing.
    unsafe {
        core::arch::asm!("griddepcontrol.wait;");
    }
    #[cfg(not(target_arch = "nvptx64"))]
    intrinsics::device_only("wait_for_prior_kernels")
}
