//! Double buffering: a block reads one tile while it writes the other.

use core::marker::PhantomData;

use super::layout::Pair;
use super::{Layout, Part, SharedParameter, Storage, enter};
use crate::device::intrinsics;

/// Two tiles of one kind, of which one is read by all threads (the front) while each thread writes its own elements of
/// the other (the back); each [`swap`](Self::swap) waits once for the block and changes that over. A parameter of a kernel,
/// as [`Shared`](super::Shared) is.
///
/// For steps that read what the step before wrote: one barrier for each step instead of two. At first the front holds
/// nothing useful; threads write the back and swap.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// The sums of all elements up to each, of 64 elements: in step n each thread adds what is 2ⁿ places before.
/// #[kernel]
/// pub fn scan_by_steps(x: &[u32], mut y: DisjointSlice<u32>, mut tiles: Alternating<Tile<u32, 64>>) {
///     let thread = thread::thread_idx_x() as usize;
///     *tiles.back() = x[thread];
///     tiles.swap();
///     let mut distance = 1;
///     while distance < 64 {
///         let (last, next) = tiles.both();
///         *next = last[thread] + if thread >= distance { last[thread - distance] } else { 0 };
///         tiles.swap();
///         distance *= 2;
///     }
///     if let Some(y) = y.own() {
///         *y = tiles.front()[thread];
///     }
/// }
///
/// # fn main() {
/// let mut y = [0; 64];
/// examples::launch((1, 64), scan_by_steps(&[1; 64], &mut y));
/// assert!(y.into_iter().eq(1..=64));
/// # examples::avoids("scan_by_steps", &["ld.b32", "st.b32"]);
/// # }
/// ```
#[derive(Debug)]
pub struct Alternating<'l, L: Layout> {
    front: *mut L::Memory,
    back: *mut L::Memory,
    barrier: u32,
    launch: PhantomData<&'l ()>,
}

// SAFETY: the memory is two tiles, and the largest block that of one of them; the barrier is nothing else's.
unsafe impl<L: Layout<Memory: Sized> + 'static> SharedParameter for Alternating<'_, L> {
    type Memory = Pair<L::Memory, L::Memory>;
    type Value<'l> = Alternating<'l, L>;
    const BLOCK: [u32; 3] = L::BLOCK;

    #[inline(always)]
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<Self::Memory>) -> Self::Value<'static> {
        // SAFETY: the caller's.
        unsafe { enter::<L, BARRIER>() };
        let (front, back) = Pair::places(storage.as_mut_ptr());
        Alternating { front, back, barrier: BARRIER, launch: PhantomData }
    }
}

impl<L: Layout<Memory: Sized>> Alternating<'_, L> {
    /// The tile to read: an array, or for several tiles a tuple of arrays.
    #[inline(always)]
    #[must_use]
    pub fn front(&self) -> L::View<'_> {
        // SAFETY: between two barriers, no thread writes the front.
        unsafe { L::view(self.front) }
    }

    /// This thread's own element of the tile to write.
    #[inline(always)]
    #[must_use]
    pub fn back(&mut self) -> L::Own<'_> {
        // SAFETY: between two barriers, no thread reads the back, and each has its own elements of it.
        unsafe { L::own(self.back) }
    }

    /// All elements of the tile to write that are this thread's: see [`Shared::part`](super::Shared::part).
    #[inline(always)]
    #[must_use]
    pub fn back_part(&mut self) -> L::Part<'_> {
        // SAFETY: as for `back`.
        unsafe { L::part(self.back) }
    }

    /// The tile to read, and this thread's own element of the one to write.
    #[inline(always)]
    #[must_use]
    pub fn both(&mut self) -> (L::View<'_>, L::Own<'_>) {
        // SAFETY: as for `front` and `back`; they are two tiles.
        unsafe { (L::view(self.front), L::own(self.back)) }
    }

    /// Waits until all threads of the block have read and written what they wanted; then the tile that was written is
    /// the one to read, and the other way round.
    ///
    /// `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    pub fn swap(&mut self) {
        intrinsics::barrier_sync(self.barrier);
        core::mem::swap(&mut self.front, &mut self.back);
    }
}

/// For [`Pipeline`](super::Pipeline).
impl<L: Layout<Memory: Sized>> Alternating<'_, L> {
    /// The thread's own elements of the back.
    ///
    /// # Safety
    /// As for [`Layout::own`], with the layout of one tile.
    #[inline(always)]
    pub(super) unsafe fn back_elements(&mut self) -> Part<'_, L> {
        // SAFETY: the caller's.
        unsafe { Part::new(self.back) }
    }
}

impl<A: Layout<Memory: Sized>, B: Layout<Memory: Sized>> Alternating<'_, (A, B)> {
    /// The thread's own elements of both parts of the back.
    ///
    /// # Safety
    /// As for [`Layout::own`]; the layouts are of one tile each.
    #[inline(always)]
    pub(super) unsafe fn back_pair(&mut self) -> (Part<'_, A>, Part<'_, B>) {
        let (a, b) = Pair::places(self.back);
        // SAFETY: the caller's; two places.
        unsafe { (Part::new(a), Part::new(b)) }
    }
}
