//! The machine's own operations: the one place that names LLVM's intrinsics for PTX.
//!
//! Every operation is a function on both sides. On the device it is the instruction; on the host,
//! where kernels are type-checked but do not run, it panics and names itself.

/// Lanes of a warp: PTX's `WARP_SZ`.
pub const WARP_SIZE: u32 = 32;

/// Declares operations by the name of the intrinsic, or of the function the driver provides.
///
/// An operation declared `fn` may be called with any arguments and at any place; one declared
/// `unsafe fn` states what its caller owes.
macro_rules! operations {
    () => {};
    ($(#[$doc:meta])* $link:literal fn $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)?; $($rest:tt)*) => {
        $(#[$doc])*
        #[inline(always)]
        #[cfg(target_arch = "nvptx64")]
        #[allow(clashing_extern_declarations, reason = "one intrinsic serves signed and unsigned numbers")]
        pub(crate) fn $name($($argument: $ty),*) $(-> $result)? {
            unsafe extern "C" {
                #[link_name = $link]
                fn operation($($argument: $ty),*) $(-> $result)?;
            }
            // SAFETY: the intrinsic takes any values of these types and touches no memory of ours.
            unsafe { operation($($argument),*) }
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[track_caller]
        pub(crate) fn $name($(_: $ty),*) $(-> $result)? {
            device_only(stringify!($name))
        }

        operations! { $($rest)* }
    };
    ($(#[$doc:meta])* $link:literal unsafe fn $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)?; $($rest:tt)*) => {
        $(#[$doc])*
        #[inline(always)]
        #[cfg(target_arch = "nvptx64")]
        pub(crate) unsafe fn $name($($argument: $ty),*) $(-> $result)? {
            unsafe extern "C" {
                #[link_name = $link]
                fn operation($($argument: $ty),*) $(-> $result)?;
            }
            // SAFETY: the caller's.
            unsafe { operation($($argument),*) }
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[track_caller]
        pub(crate) unsafe fn $name($(_: $ty),*) $(-> $result)? {
            device_only(stringify!($name))
        }

        operations! { $($rest)* }
    };
}

/// The panic of a device function that is called on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
#[track_caller]
pub(crate) fn device_only(name: &str) -> ! {
    panic!("`{name}` runs on a CUDA device only: call it from a `#[kernel]` function and launch that")
}

// Where a thread is: PTX ISA, "Special Registers". LLVM knows the ranges.
operations! {
    "llvm.nvvm.read.ptx.sreg.tid.x" fn thread_idx_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.tid.y" fn thread_idx_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.tid.z" fn thread_idx_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.x" fn block_dim_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.y" fn block_dim_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.z" fn block_dim_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.x" fn block_idx_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.y" fn block_idx_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.z" fn block_idx_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.x" fn grid_dim_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.y" fn grid_dim_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.z" fn grid_dim_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.laneid" fn lane_id() -> u32;
    "llvm.nvvm.read.ptx.sreg.lanemask.lt" fn lane_mask_lt() -> u32;
    "llvm.nvvm.read.ptx.sreg.clock64" fn clock() -> u64;
    "llvm.nvvm.read.ptx.sreg.globaltimer" fn global_timer() -> u64;
    "llvm.nvvm.read.ptx.sreg.clusterid.x" fn cluster_idx_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.clusterid.y" fn cluster_idx_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.clusterid.z" fn cluster_idx_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.nclusterid.x" fn grid_clusters_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.nclusterid.y" fn grid_clusters_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.nclusterid.z" fn grid_clusters_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.cluster.ctarank" fn rank_in_cluster() -> u32;
    "llvm.nvvm.read.ptx.sreg.cluster.nctarank" fn blocks_in_cluster() -> u32;
    "llvm.nvvm.read.ptx.sreg.dynamic_smem_size" fn dynamic_shared_bytes() -> u32;
}

// Copies that go on by themselves, and matrix fragments: PTX ISA, "cp.async", "mma", "ldmatrix".
operations! {
    "__rumba_cp_async_4" unsafe fn cp_async_4(to: *mut u8, from: *const u8);
    "__rumba_cp_async_8" unsafe fn cp_async_8(to: *mut u8, from: *const u8);
    "__rumba_cp_async_16" unsafe fn cp_async_16(to: *mut u8, from: *const u8);
    "__rumba_cp_async_4_of" unsafe fn cp_async_4_of(to: *mut u8, from: *const u8, bytes: u32);
    "__rumba_cp_async_8_of" unsafe fn cp_async_8_of(to: *mut u8, from: *const u8, bytes: u32);
    "__rumba_cp_async_16_of" unsafe fn cp_async_16_of(to: *mut u8, from: *const u8, bytes: u32);
    "llvm.nvvm.cp.async.commit.group" fn cp_async_commit();
    "llvm.nvvm.cp.async.wait.all" fn cp_async_wait_all();
    "__rumba_cp_async_wait_1" fn cp_async_wait_1();
    "__rumba_cp_async_wait_2" fn cp_async_wait_2();
    "llvm.nvvm.isspacep.global" fn is_global(address: *const u8) -> bool;
    "llvm.nvvm.isspacep.shared" fn is_shared(address: *const u8) -> bool;
    "__rumba_mma_f16" unsafe fn mma_f16(d: *mut u32, a: *const u32, b: *const u32);
    "__rumba_mma_bf16" unsafe fn mma_bf16(d: *mut u32, a: *const u32, b: *const u32);
    "__rumba_mma_tf32" unsafe fn mma_tf32(d: *mut u32, a: *const u32, b: *const u32);
    /// 8 by 8 by 4.
    "__rumba_mma_f64" unsafe fn mma_f64_small(d: *mut u32, a: *const u32, b: *const u32);
    /// 16 by 8 by 4; sm_90.
    "__rumba_mma_f64_large" unsafe fn mma_f64_large(d: *mut u32, a: *const u32, b: *const u32);
    "__rumba_mma_i8" unsafe fn mma_i8(d: *mut u32, a: *const u32, b: *const u32);
    "__rumba_ldmatrix_x4" unsafe fn ldmatrix_x4(d: *mut u32, row: *const u8);
    "__rumba_ldmatrix_x2" unsafe fn ldmatrix_x2(d: *mut u32, row: *const u8);
    "__rumba_ldmatrix_x2_trans" unsafe fn ldmatrix_x2_trans(d: *mut u32, row: *const u8);
    "__rumba_ldmatrix_x4_trans" unsafe fn ldmatrix_x4_trans(d: *mut u32, row: *const u8);
    /// The address of shared memory in its own window, which instructions for tensors take.
    "__rumba_shared_address" fn shared_address(address: *const u8) -> u32;
    /// Hides a number from the optimizer, so that computations with the number are not hoisted out of loops.
    "__rumba_opaque" fn opaque(value: u32) -> u32;
}

/// A product of 16 by 4 and 4 by 8 `f64` is added to 16 by 8: one instruction from sm_90 on, and two before, which have the same
/// numbers in the same lanes.
///
/// # Safety
/// There are 2, 1 and 4 numbers.
#[inline(always)]
pub(crate) unsafe fn mma_f64(d: *mut u32, a: *const u32, b: *const u32) {
    if crate::cfg_arch!("sm_90") {
        // SAFETY: the caller's.
        unsafe { mma_f64_large(d, a, b) };
        return;
    }
    // SAFETY: numbers of the upper and of the lower eight rows: one of a, two of the result; each has two words.
    unsafe {
        mma_f64_small(d, a, b);
        mma_f64_small(d.add(4), a.add(2), b);
    }
}

/// The position of the calling block's cluster in the grid, along x, y and z.
#[inline(always)]
pub(crate) fn cluster_idx() -> [u32; 3] {
    [cluster_idx_x(), cluster_idx_y(), cluster_idx_z()]
}

/// How many clusters the grid has along x, y and z.
#[inline(always)]
pub(crate) fn grid_clusters() -> [u32; 3] {
    [grid_clusters_x(), grid_clusters_y(), grid_clusters_z()]
}

/// The target architecture, ten times its number: 800 for sm_80. The builder replaces the call by a constant before it
/// optimises, so that branches on the architecture disappear.
#[inline(always)]
pub(crate) fn arch() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "C" {
            fn __nvvm_reflect(question: *const core::ffi::c_char) -> u32;
        }
        // SAFETY: the builder replaces the call by a number.
        unsafe { __nvvm_reflect(c"__CUDA_ARCH".as_ptr()) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    0
}

// Functions that the host computes itself: bits, rounding, products, hints, and ends of the thread and of the whole
// launch with its context.
#[cfg(target_arch = "nvptx64")]
operations! {
    "llvm.nvvm.mulhi.ui" fn mul_hi(a: u32, b: u32) -> u32;
    "__rumba_ld_cs_4" unsafe fn ld_cs_4(address: *const u8, value: *mut u8);
    "__rumba_st_cs_4" unsafe fn st_cs_4(address: *mut u8, value: *const u8);
    "__rumba_ld_cs_8" unsafe fn ld_cs_8(address: *const u8, value: *mut u8);
    "__rumba_st_cs_8" unsafe fn st_cs_8(address: *mut u8, value: *const u8);
    "__rumba_ld_cs_16" unsafe fn ld_cs_16(address: *const u8, value: *mut u8);
    "__rumba_st_cs_16" unsafe fn st_cs_16(address: *mut u8, value: *const u8);
    "__rumba_ld_cg_4" unsafe fn ld_cg_4(address: *const u8, value: *mut u8);
    "__rumba_st_cg_4" unsafe fn st_cg_4(address: *mut u8, value: *const u8);
    "__rumba_ld_cg_8" unsafe fn ld_cg_8(address: *const u8, value: *mut u8);
    "__rumba_st_cg_8" unsafe fn st_cg_8(address: *mut u8, value: *const u8);
    "__rumba_ld_cg_16" unsafe fn ld_cg_16(address: *const u8, value: *mut u8);
    "__rumba_st_cg_16" unsafe fn st_cg_16(address: *mut u8, value: *const u8);
    "llvm.nvvm.prmt" fn prmt(low: u32, high: u32, selector: u32) -> u32;
    "llvm.fshl.i32" fn funnel_left(high: u32, low: u32, shift: u32) -> u32;
    "llvm.fshr.i32" fn funnel_right(high: u32, low: u32, shift: u32) -> u32;
    "llvm.nvvm.f2tf32.rna" fn f2tf32(value: f32) -> u32;
    "llvm.nvvm.exit" fn exit() -> !;
    "llvm.trap" fn trap() -> !;
}

// Barriers and fences: PTX ISA, "Parallel Synchronization and Communication Instructions".
operations! {
    "llvm.nvvm.barrier.cta.sync.aligned.all" fn barrier_sync_aligned(barrier: u32);
    "llvm.nvvm.barrier.cta.sync.all" fn barrier_sync(barrier: u32);
    "llvm.nvvm.barrier.cta.red.popc.aligned.all" fn barrier_count(barrier: u32, predicate: bool) -> u32;
    "llvm.nvvm.barrier.cta.red.popc.all" fn barrier_count_of_any(barrier: u32, predicate: bool) -> u32;
    "llvm.nvvm.barrier.cta.red.and.aligned.all" fn barrier_and(barrier: u32, predicate: bool) -> bool;
    "llvm.nvvm.barrier.cta.red.or.aligned.all" fn barrier_or(barrier: u32, predicate: bool) -> bool;
    "llvm.nvvm.bar.warp.sync" fn bar_warp_sync(mask: u32);
    "llvm.nvvm.membar.cta" fn membar_cta();
    "llvm.nvvm.membar.gl" fn membar_gl();
    "llvm.nvvm.membar.sys" fn membar_sys();
    "llvm.nvvm.nanosleep" fn nanosleep(nanoseconds: u32);
}

// Inside a warp.
operations! {
    "llvm.nvvm.shfl.sync.idx.i32" fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.up.i32" fn shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.down.i32" fn shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.bfly.i32" fn shfl_bfly(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
    "llvm.nvvm.vote.all.sync" fn vote_all(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.vote.any.sync" fn vote_any(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.vote.ballot.sync" fn vote_ballot(mask: u32, predicate: bool) -> u32;
    "llvm.nvvm.match.any.sync.i32" fn match_any(mask: u32, value: u32) -> u32;
    "llvm.nvvm.match.any.sync.i64" fn match_any_64(mask: u32, value: u64) -> u32;
    "__rumba_match_all_32" fn match_all(mask: u32, value: u32) -> u32;
    "__rumba_match_all_64" fn match_all_64(mask: u32, value: u64) -> u32;
    "llvm.nvvm.activemask" fn activemask() -> u32;
    "llvm.nvvm.fns" fn fns(mask: u32, base: u32, offset: i32) -> u32;
    "llvm.nvvm.redux.sync.add" fn redux_add_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.umin" fn redux_min_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.umax" fn redux_max_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.and" fn redux_and_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.or" fn redux_or_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.xor" fn redux_xor_u32(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.add" fn redux_add_i32(value: i32, mask: u32) -> i32;
    "llvm.nvvm.redux.sync.min" fn redux_min_i32(value: i32, mask: u32) -> i32;
    "llvm.nvvm.redux.sync.max" fn redux_max_i32(value: i32, mask: u32) -> i32;
    "llvm.nvvm.redux.sync.and" fn redux_and_i32(value: i32, mask: u32) -> i32;
    "llvm.nvvm.redux.sync.or" fn redux_or_i32(value: i32, mask: u32) -> i32;
    "llvm.nvvm.redux.sync.xor" fn redux_xor_i32(value: i32, mask: u32) -> i32;
}
