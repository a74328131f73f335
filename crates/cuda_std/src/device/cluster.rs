//! Clusters of blocks: their barrier, and where the memory of another block is. They need PTX 7.8 and sm_90.
//!
//! The barrier is for `cuda_std::shared::ClusterShared` alone; tensor pipelines have their own use of it.

/// Waits until all threads of the cluster that have not exited have come here. All threads then see the earlier writes
/// of every thread.
#[inline(always)]
pub(crate) fn sync() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: threads that have not exited come here equally often.
    unsafe {
        core::arch::asm!("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;");
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::device::intrinsics::device_only("barrier.cluster")
}

/// The address of shared memory that another block of the cluster has at the same place as the calling one. `rank` is below the
/// number of blocks.
#[inline(always)]
pub(crate) fn map(address: *mut u8, rank: u32) -> *mut u8 {
    #[cfg(target_arch = "nvptx64")]
    {
        let there: u64;
        // SAFETY: it computes an address, and accesses nothing.
        unsafe {
            core::arch::asm!(
                "mapa.u64 {there}, {address}, {rank};",
                there = out(reg64) there,
                address = in(reg64) address.expose_provenance() as u64,
                rank = in(reg32) rank,
                options(pure, nomem, nostack)
            );
        }
        core::ptr::with_exposed_provenance_mut(there as usize)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (address, rank);
        crate::device::intrinsics::device_only("mapa")
    }
}
