//! Turns of the warp groups of a block.

use core::marker::PhantomData;

use super::pipeline::WARP_GROUP;
use crate::device::warp_group;

/// The turns of `GROUPS` warp groups of consumers, one after the other, while a role lasts, `'r`: each begins what the multiplying
/// units are to do while the others compute. All take as many turns.
#[derive(Debug)]
pub struct Turns<'r, const GROUPS: u32> {
    /// The barrier of the first warp group, behind which are those of the others.
    first: u32,
    rank: u32,
    role: PhantomData<(&'r (), *mut ())>,
}

impl<const GROUPS: u32> Turns<'_, GROUPS> {
    /// The threads of two warp groups: the one that waits for its turn, and the one before it.
    const THREADS: u32 = 2 * WARP_GROUP;

    /// # Safety
    ///
    /// The barriers from `first` on belong to the turns; the warp groups come here once each, with their ranks, all lanes of a
    /// warp together.
    #[inline(always)]
    pub(super) unsafe fn begin(first: u32, rank: u32) -> Self {
        if GROUPS > 1 && rank == GROUPS - 1 {
            // SAFETY: the caller's.
            unsafe { warp_group::barrier_arrive(first, Self::THREADS) };
        }
        Self { first, rank, role: PhantomData }
    }

    /// Waits for the warp group's turn. All threads of it come here together.
    ///
    /// `bar.sync`; PTX 1.0.
    #[inline(always)]
    pub fn take(&mut self) {
        if GROUPS > 1 {
            // SAFETY: the barrier counts this warp group and the one before it.
            unsafe { warp_group::barrier_sync(self.first + self.rank, Self::THREADS) };
        }
    }

    /// Says that it is the next warp group's turn.
    ///
    /// `bar.arrive`; PTX 1.0.
    #[inline(always)]
    pub fn pass(&mut self) {
        if GROUPS > 1 {
            let next = if self.rank == GROUPS - 1 { 0 } else { self.rank + 1 };
            // SAFETY: the barrier counts this warp group and the next one.
            unsafe { warp_group::barrier_arrive(self.first + next, Self::THREADS) };
        }
    }

    /// The first warp group takes the turn that the last one passed to it, so that no barrier is left half full.
    #[inline(always)]
    pub(super) fn end(mut self) {
        if self.rank == 0 {
            self.take();
        }
    }
}
