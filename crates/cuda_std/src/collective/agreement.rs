//! Compares the arguments that the threads of a block pass to a collective function, once per call.
//!
//! A collective function has barriers, and takes parts of the block's work by the index of a thread. So the number of barriers and the
//! parts must follow from values that are the same in all threads. A type cannot say that: each of several parameters is the same in all
//! threads, but a thread can choose one of them.

use crate::device::intrinsics;
use crate::device::thread::{index_in_block, threads_in_block};

/// Words in shared memory, which are loaded and stored four at a time.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Words<const N: usize>([[u32; 8]; N]);

/// Whether all threads of the block come here with the same words. The first thread writes its words to shared memory, and each thread
/// compares them with its own.
///
/// # Safety
///
/// `memory` is in shared memory, with room for the words, and no thread uses it for anything else before all threads have returned from
/// here. All threads pass the same `memory` and `barrier`, and nothing else uses the barrier.
#[inline(always)]
pub(super) unsafe fn agree<const N: usize>(memory: *mut Words<N>, barrier: u32, words: [[u32; 8]; N]) -> bool {
    if index_in_block() == 0 {
        // SAFETY: the caller's.
        unsafe { memory.write(Words(words)) };
    }
    intrinsics::barrier_sync(barrier);
    // SAFETY: the caller's; the first thread has written them before the barrier. If it is not here, any bits are words.
    let Words(of_first) = unsafe { memory.read() };
    let are_equal = of_first.into_iter().zip(words).fold(true, |equal, (these, those)| equal & are_equal(these, those));
    intrinsics::barrier_count_of_any(barrier, are_equal) == threads_in_block()
}

/// Whether these words are those, without a branch for each.
#[inline(always)]
pub(super) fn are_equal<const N: usize>(these: [u32; N], those: [u32; N]) -> bool {
    let mut different = 0;
    for (this, that) in these.into_iter().zip(those) {
        different |= this ^ that;
    }
    different == 0
}
