//! Copies from global to shared memory that go on while the block computes: a double buffer that cannot be read early.

use core::mem::zeroed;

use super::layout::Elements;
use super::{Alternating, Layout, SharedParameter, Storage};
use crate::device::intrinsics;

/// Two tiles of one kind, of which one is read by all threads (the front) while copies from global memory fill the other
/// (the back). A parameter of a kernel, as [`Shared`](super::Shared) is.
///
/// Once it is [started](Self::start), [`fetch`](Stages::fetch) starts to fill the back, [`advance`](Stages::advance) waits for it and
/// makes it the front, and the next `fetch` goes on while all read the front. The front can be reached only through the stages and the
/// back not at all, so that no stage can be read before its copies are there and the block has met, nor be filled while
/// another thread reads it.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// The sums of 64 numbers from each on, in a ring, 64 at a time: a block reads the tile and the next one is on its way.
/// #[kernel]
/// pub fn sums_in_stages(x: &[u32], mut y: DisjointSlice<u32>, tiles: Pipeline<Tile<u32, 64>>) {
///     let thread = thread::thread_idx_x() as usize;
///     let mut stages = tiles.start();
///     stages.fetch(|i| x.get(i));
///     let mut sum = 0;
///     for stage in 1..=x.len().div_ceil(64) {
///         stages.advance();
///         stages.fetch(|i| x.get(64 * stage + i));
///         sum += stages.front()[thread..].iter().sum::<u32>();
///     }
///     if let Some(y) = y.own() {
///         *y = sum;
///     }
/// }
///
/// # fn main() {
/// let mut y = vec![0; 64];
/// examples::launch((1, 64), sums_in_stages(&[1; 150], &mut y));
/// assert!((0..64).all(|i| y[i] == 2 * (64 - i as u32) + 22_u32.saturating_sub(i as u32)));
/// # examples::becomes("sums_in_stages", &["cp.async.ca.shared.global", "cp.async.wait_all", "barrier", "ld.shared"]);
/// # examples::avoids("sums_in_stages", &["isspacep", "ld.b32"]);
/// # }
/// ```
#[allow(missing_debug_implementations, reason = "memory of threads is not shown")]
pub struct Pipeline<'l, L: Layout>(Alternating<'l, L>);

// SAFETY: that of `Alternating`.
unsafe impl<L: Layout<Memory: Sized> + 'static> SharedParameter for Pipeline<'_, L> {
    type Memory = <Alternating<'static, L> as SharedParameter>::Memory;
    type Value<'l> = Pipeline<'l, L>;
    const BLOCK: [u32; 3] = L::BLOCK;
    const COPIES: bool = true;

    #[inline(always)]
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<Self::Memory>) -> Self::Value<'static> {
        // SAFETY: the caller's.
        Pipeline(unsafe { Alternating::<L>::assemble::<BARRIER>(storage) })
    }
}

impl<'l, L: Layout<Memory: Sized>> Pipeline<'l, L> {
    /// The stages, of which none is filled.
    #[inline(always)]
    #[must_use]
    pub fn start(self) -> Stages<'l, L> {
        Stages(self.0)
    }
}

/// The stages of a [`Pipeline`]. When they are dropped, the calling thread's copies are over; a thread that panics waits for
/// them before it exits, and so does one that has forgotten its stages.
///
/// The sources of copies stay unchanged during `'l`: slices that the kernel was passed, as long as the kernel runs.
#[allow(missing_debug_implementations, reason = "memory of threads is not shown")]
pub struct Stages<'l, L: Layout>(Alternating<'l, L>);

impl<L: Layout> Drop for Stages<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        intrinsics::cp_async_wait_all();
    }
}

impl<L: Layout<Memory: Sized>> Stages<'_, L> {
    /// The tile to read.
    #[inline(always)]
    #[must_use]
    pub fn front(&self) -> L::View<'_> {
        self.0.front()
    }

    /// Waits for the calling thread's copies, then for all threads of the block; then what was fetched is the front, and
    /// what was the front can be filled.
    ///
    /// `cp.async.wait_all`; PTX 7.0, sm_80. `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    pub fn advance(&mut self) {
        intrinsics::cp_async_wait_all();
        self.0.swap();
    }
}

impl<'l, L: Elements<Element: Copy + 'l, Memory: Sized>> Stages<'l, L> {
    /// Starts to fill the back: each thread its own elements, from where `source` says; where it says `None`, with zero.
    ///
    /// `cp.async.ca.shared.global` of 4 or 8 bytes, `cp.async.cg.shared.global` of 16; PTX 7.0, sm_80. An element has
    /// one of these sizes and is aligned to its size. Data outside global memory are copied synchronously.
    #[inline(always)]
    pub fn fetch(&mut self, mut source: impl FnMut(L::Index) -> Option<&'l L::Element>) {
        L::each(self.part(), |index, own| copy(own, source(index)));
    }

    #[inline(always)]
    fn part(&mut self) -> super::Part<'_, L> {
        // SAFETY: between two barriers each thread has its own elements of the back. Copies that are under way into them
        // are this thread's own; nothing here reads them, and `advance` waits.
        unsafe { self.0.back_elements() }
    }
}

impl<'l, A, B> Stages<'l, (A, B)>
where
    A: Elements<Element: Copy + 'l, Memory: Sized>,
    B: Elements<Element: Copy + 'l, Memory: Sized>,
{
    /// [`fetch`](Stages::fetch) for a pair of tiles.
    #[inline(always)]
    pub fn fetch_pair(
        &mut self,
        mut first: impl FnMut(A::Index) -> Option<&'l A::Element>,
        mut second: impl FnMut(B::Index) -> Option<&'l B::Element>,
    ) {
        // SAFETY: as in `part`.
        let (a, b) = unsafe { self.0.back_pair() };
        A::each(a, |index, own| copy(own, first(index)));
        B::each(b, |index, own| copy(own, second(index)));
    }
}

/// Starts to copy an element to its place in shared memory.
#[inline(always)]
fn copy<T: Copy>(own: &mut T, source: Option<&T>) {
    const {
        assert!(
            matches!(size_of::<T>(), 4 | 8 | 16) && align_of::<T>() == size_of::<T>(),
            "`cp.async` copies 4, 8 or 16 bytes, aligned to as many; wrap smaller elements in a structure with `align`"
        );
    }
    let to = core::ptr::from_mut(own).cast::<u8>();
    let Some(source) = source else {
        // SAFETY: elements of shared memory are plain data, valid for any bits.
        *own = unsafe { zeroed() };
        return;
    };
    let from = core::ptr::from_ref(source).cast::<u8>();
    if !intrinsics::is_global(from) {
        *own = *source;
        return;
    }
    // SAFETY: both are valid for this size and aligned to it, one in shared and the other in global memory; the source does
    // not change as long as the stages live, and the destination is not touched before the wait.
    unsafe {
        match size_of::<T>() {
            4 => intrinsics::cp_async_4(to, from),
            8 => intrinsics::cp_async_8(to, from),
            _ => intrinsics::cp_async_16(to, from),
        }
    }
}
