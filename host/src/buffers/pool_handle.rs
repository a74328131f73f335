//! A pool of the driver's, and the allocations and releases that are put on the default stream.

use crate::base::error::{Code, answer};
use crate::context::uses::{Access, Uses};
use crate::context::{Context, Entered};
use crate::cuda;
use crate::cuda::sys;
use std::sync::Arc;

pub(super) struct PoolHandle {
    pub(super) context: Arc<Context>,
    pub(super) raw: sys::CUmemoryPool,
}

// SAFETY: the driver's calls on a pool may be made from any thread.
unsafe impl Send for PoolHandle {}

// SAFETY: as above.
unsafe impl Sync for PoolHandle {}

impl PoolHandle {
    /// At least one byte, once the default stream has come to it.
    pub(super) fn allocate(&self, entered: &Entered<'_>, bytes: usize) -> Result<u64, Code> {
        let stream = &entered.context.queues.default.raw;
        let mut address = 0;
        // SAFETY: the pool and the stream are alive.
        answer(unsafe { sys::cuMemAllocFromPoolAsync(&mut address, bytes, self.raw, stream.raw()) })?;
        Ok(address)
    }

    /// Frees what was allocated, after all that uses it.
    ///
    /// # Safety
    /// It was allocated from a pool, is freed once, and not used afterwards.
    pub(super) unsafe fn free(address: u64, bytes: usize, uses: &Uses, entered: &Entered<'_>) {
        let queues = &entered.context.queues;
        let mut order = queues.order.lock();
        let all = Access { bytes: 0..bytes as u64, writes: true };
        let is_ordered = queues.default.next_to_use(uses, &all, &mut order, entered).is_ok();
        // Without memory for an event, the host waits for all work instead.
        if !is_ordered && cuda::synchronize().is_err() {
            // The context is lost, and its memory with it.
            return;
        }
        // SAFETY: the caller's promise. An error is a fault that every later call reports.
        let _ = unsafe { sys::cuMemFreeAsync(address, queues.default.raw.raw()) };
    }
}

impl Drop for PoolHandle {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_to_release() {
            // SAFETY: made by `memory_pool`, destroyed once. The driver keeps pending allocations until their frees
            // complete.
            let _ = unsafe { sys::cuMemPoolDestroy(self.raw) };
        }
    }
}
