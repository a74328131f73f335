//! Abbreviations for kernels of the corpus, and instructions that the device library offers only inside of types that
//! cannot be misused.

use cuda_std::atomic::Atomic;
use cuda_std::thread;

/// The thread in its block.
#[inline(always)]
pub(crate) fn tid() -> usize {
    thread::thread_idx_x() as usize
}

/// The block in the grid.
#[inline(always)]
pub(crate) fn bid() -> usize {
    thread::block_idx_x() as usize
}

/// The thread in the grid.
#[inline(always)]
pub(crate) fn gid() -> usize {
    bid() * thread::block_dim_x() as usize + tid()
}

/// Memory as a number that all may change.
#[inline(always)]
pub(crate) unsafe fn atomic<'a>(address: *const u32) -> &'a Atomic<u32> {
    &*address.cast()
}

/// Memory as a floating-point number that all may change.
#[inline(always)]
pub(crate) unsafe fn atomic_f32<'a>(address: *const u32) -> &'a Atomic<f32> {
    &*address.cast()
}

// Instructions are macros, so that debug information names the line in the kernel that uses the macro.

/// A value that an instruction would have had: on the host, bodies of kernels compile and do not run.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn on_the_host<T, U>(_operands: T) -> U {
    unreachable!("device code")
}

/// Waits at a barrier for a number of threads.
#[collapse_debuginfo(yes)]
macro_rules! bar_sync {
    ($id:expr, $threads:expr) => {{
        let (id, threads): (u32, u32) = ($id, $threads);
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("barrier.sync {id}, {threads};", id = in(reg32) id, threads = in(reg32) threads);
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>((id, threads));
    }};
}
pub(crate) use bar_sync;

/// Arrives at a barrier for a number of threads, and goes on.
#[collapse_debuginfo(yes)]
macro_rules! bar_arrive {
    ($id:expr, $threads:expr) => {{
        let (id, threads): (u32, u32) = ($id, $threads);
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("barrier.arrive {id}, {threads};", id = in(reg32) id, threads = in(reg32) threads);
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>((id, threads));
    }};
}
pub(crate) use bar_arrive;

/// Starts to copy a word from global to shared memory.
#[collapse_debuginfo(yes)]
macro_rules! cp_async {
    ($to:expr, $from:expr) => {{
        let (to, from): (*mut u32, *const u32) = ($to, $from);
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("{{ .reg .b64 %to; cvta.to.shared.u64 %to, {to}; cp.async.ca.shared.global [%to], [{from}], 4; }}", to = in(reg64) to, from = in(reg64) from);
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>((to, from));
    }};
}
pub(crate) use cp_async;

/// Waits for the copies that the thread has started.
#[collapse_debuginfo(yes)]
macro_rules! cp_async_wait_all {
    () => {{
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("cp.async.wait_all;");
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>(());
    }};
}
pub(crate) use cp_async_wait_all;

/// Ends a group of copies.
#[collapse_debuginfo(yes)]
macro_rules! cp_async_commit {
    () => {{
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("cp.async.commit_group;");
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>(());
    }};
}
pub(crate) use cp_async_commit;

/// Waits until at most one group of copies is under way.
#[collapse_debuginfo(yes)]
macro_rules! cp_async_wait_all_but_one {
    () => {{
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("cp.async.wait_group 1;");
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>(());
    }};
}
pub(crate) use cp_async_wait_all_but_one;

/// `div.u32`.
#[collapse_debuginfo(yes)]
macro_rules! div_u32 {
    ($a:expr, $b:expr) => {{
        let (a, b): (u32, u32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u32;
            core::arch::asm!("div.u32 {result}, {a}, {b};", result = out(reg32) result, a = in(reg32) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u32>((a, b))
    }};
}
pub(crate) use div_u32;

/// `rem.u32`.
#[collapse_debuginfo(yes)]
macro_rules! rem_u32 {
    ($a:expr, $b:expr) => {{
        let (a, b): (u32, u32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u32;
            core::arch::asm!("rem.u32 {result}, {a}, {b};", result = out(reg32) result, a = in(reg32) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u32>((a, b))
    }};
}
pub(crate) use rem_u32;

/// `div.s32`.
#[collapse_debuginfo(yes)]
macro_rules! div_s32 {
    ($a:expr, $b:expr) => {{
        let (a, b): (i32, i32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: i32;
            core::arch::asm!("div.s32 {result}, {a}, {b};", result = out(reg32) result, a = in(reg32) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, i32>((a, b))
    }};
}
pub(crate) use div_s32;

/// `div.u64`.
#[collapse_debuginfo(yes)]
macro_rules! div_u64 {
    ($a:expr, $b:expr) => {{
        let (a, b): (u64, u64) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u64;
            core::arch::asm!("div.u64 {result}, {a}, {b};", result = out(reg64) result, a = in(reg64) a, b = in(reg64) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u64>((a, b))
    }};
}
pub(crate) use div_u64;

/// `rem.s64`.
#[collapse_debuginfo(yes)]
macro_rules! rem_s64 {
    ($a:expr, $b:expr) => {{
        let (a, b): (i64, i64) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: i64;
            core::arch::asm!("rem.s64 {result}, {a}, {b};", result = out(reg64) result, a = in(reg64) a, b = in(reg64) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, i64>((a, b))
    }};
}
pub(crate) use rem_s64;

/// `shl.b32`.
#[collapse_debuginfo(yes)]
macro_rules! shl_b32 {
    ($a:expr, $b:expr) => {{
        let (a, b): (u32, u32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u32;
            core::arch::asm!("shl.b32 {result}, {a}, {b};", result = out(reg32) result, a = in(reg32) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u32>((a, b))
    }};
}
pub(crate) use shl_b32;

/// `shl.b64`.
#[collapse_debuginfo(yes)]
macro_rules! shl_b64 {
    ($a:expr, $b:expr) => {{
        let (a, b): (u64, u32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u64;
            core::arch::asm!("shl.b64 {result}, {a}, {b};", result = out(reg64) result, a = in(reg64) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u64>((a, b))
    }};
}
pub(crate) use shl_b64;

/// `shr.u32`.
#[collapse_debuginfo(yes)]
macro_rules! shr_u32 {
    ($a:expr, $b:expr) => {{
        let (a, b): (u32, u32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u32;
            core::arch::asm!("shr.u32 {result}, {a}, {b};", result = out(reg32) result, a = in(reg32) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u32>((a, b))
    }};
}
pub(crate) use shr_u32;

/// `shr.s32`.
#[collapse_debuginfo(yes)]
macro_rules! shr_s32 {
    ($a:expr, $b:expr) => {{
        let (a, b): (i32, u32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: i32;
            core::arch::asm!("shr.s32 {result}, {a}, {b};", result = out(reg32) result, a = in(reg32) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, i32>((a, b))
    }};
}
pub(crate) use shr_s32;

/// `shr.u64`.
#[collapse_debuginfo(yes)]
macro_rules! shr_u64 {
    ($a:expr, $b:expr) => {{
        let (a, b): (u64, u32) = ($a, $b);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u64;
            core::arch::asm!("shr.u64 {result}, {a}, {b};", result = out(reg64) result, a = in(reg64) a, b = in(reg32) b);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u64>((a, b))
    }};
}
pub(crate) use shr_u64;

/// Makes an mbarrier.
#[collapse_debuginfo(yes)]
macro_rules! mbarrier_init {
    ($barrier:expr, $count:expr) => {{
        let (barrier, count): (u32, u32) = ($barrier, $count);
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("mbarrier.init.shared.b64 [{barrier}], {count};", barrier = in(reg32) barrier, count = in(reg32) count);
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>((barrier, count));
    }};
}
pub(crate) use mbarrier_init;

/// Ends an mbarrier.
#[collapse_debuginfo(yes)]
macro_rules! mbarrier_inval {
    ($barrier:expr) => {{
        let (barrier,): (u32,) = ($barrier,);
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("mbarrier.inval.shared.b64 [{barrier}];", barrier = in(reg32) barrier);
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, ()>((barrier,));
    }};
}
pub(crate) use mbarrier_inval;

/// Arrives, and gives the phase.
#[collapse_debuginfo(yes)]
macro_rules! mbarrier_arrive {
    ($barrier:expr) => {{
        let (barrier,): (u32,) = ($barrier,);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u64;
            core::arch::asm!("mbarrier.arrive.shared.b64 {result}, [{barrier}];", result = out(reg64) result, barrier = in(reg32) barrier);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u64>((barrier,))
    }};
}
pub(crate) use mbarrier_arrive;

/// Whether a phase is over.
#[collapse_debuginfo(yes)]
macro_rules! mbarrier_test_wait {
    ($barrier:expr, $phase:expr) => {{
        let (barrier, phase): (u32, u64) = ($barrier, $phase);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u32;
            core::arch::asm!("{{ .reg .pred %over; mbarrier.test_wait.shared.b64 %over, [{barrier}], {phase}; selp.u32 {result}, 1, 0, %over; }}", result = out(reg32) result, barrier = in(reg32) barrier, phase = in(reg64) phase);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u32>((barrier, phase))
    }};
}
pub(crate) use mbarrier_test_wait;

/// The offset of a place in shared memory.
#[collapse_debuginfo(yes)]
macro_rules! shared_offset {
    ($place:expr) => {{
        let (place,): (*mut u32,) = ($place,);
        #[cfg(target_arch = "nvptx64")]
        {
            let result: u32;
            core::arch::asm!("{{ .reg .b64 %offset; cvta.to.shared.u64 %offset, {place}; cvt.u32.u64 {result}, %offset; }}", result = out(reg32) result, place = in(reg64) place);
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::ui::device::on_the_host::<_, u32>((place,))
    }};
}
pub(crate) use shared_offset;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// The device's heap.
    pub(crate) fn malloc(bytes: u64) -> *mut u8;
    /// The device's heap.
    pub(crate) fn free(memory: *mut u8);
}

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) unsafe fn malloc(bytes: u64) -> *mut u8 {
    unreachable!("device code ({bytes})");
}

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) unsafe fn free(memory: *mut u8) {
    unreachable!("device code ({memory:?})");
}
