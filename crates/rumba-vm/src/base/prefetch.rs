//! Prefetches into the processor's cache.

/// Asks the processor for a line of memory. The address may be any number: a prefetch never faults.
#[inline(always)]
pub(crate) fn prefetch(address: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of SSE, which each processor of this architecture has, and has no effect on memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address as usize)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
