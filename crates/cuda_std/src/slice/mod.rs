//! Outputs of a kernel: memory that many threads write, each its own element.
//!
//! `&mut [T]` cannot be passed to a kernel, since every thread would get the same one. These types
//! can: from them a thread reaches the element that belongs to it, and no other. What is whose
//! follows from the thread's position in the grid, so the launch must have no more dimensions than
//! the output; the launcher checks that.
//!
//! | type | element of the thread at (x, y, z) |
//! |---|---|
//! | [`DisjointSlice`] | x |
//! | [`DisjointChunks`] | several, the same work for each |
//! | [`DisjointRounds`] | several in each round of a grid that stays |
//! | [`DisjointSlice2`] | row y, column x |
//! | [`DisjointSlice3`] | layer z, row y, column x |
//! | [`DisjointTiles`] | several of the tile of its block |
//! | [`DisjointRows`] | several of the row of its block or warp |
//! | [`DisjointView`] | index (.., z, y, x), and those a grid further |
//! | [`DisjointColumns`] | all layers at row y, column x, or those of its part z |
//! | [`PerBlock`] | of the block's first thread, the block's number |
//!
//! None of them lets a thread see another's element: for that there are slices of
//! [`Atomic`](crate::atomic::Atomic)s, and [`Shared`](crate::shared::Shared) memory.

mod chunks;
mod lines;
mod matrix;
mod per_block;
mod rounds;
mod strided;
mod tiles;

pub use chunks::{DisjointChunks, Inputs};
pub use lines::{ByBlock, ByWarp, Column, DisjointColumns, DisjointRows, Row};
pub use matrix::{DisjointSlice2, DisjointSlice3};
pub use per_block::PerBlock;
pub use rounds::DisjointRounds;
pub(crate) use rounds::Vector;
pub use strided::DisjointView;
pub(crate) use tiles::MOST;
pub use tiles::{ByRows, DisjointTiles, TilePlace, Transposed};

use core::iter::FusedIterator;
use core::marker::PhantomData;

use crate::parameter::{Element, KernelParameter, Role, start_of};
use crate::thread::{OwnIndex, grid, gridsize};

/// An output with one element for each thread of a 1-D launch, or one for each step of a
/// grid-stride loop.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel]
/// pub fn double(x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = grid::<1>();
///     if let Some(y) = y.get_mut(i) {
///         *y = 2.0 * x[i];
///     }
/// }
///
/// # fn main() {
/// let mut y = [0.0; 3];
/// examples::launch((1, 32), double(&[1.0, 2.0, 3.0], &mut y));
/// assert_eq!(y, [2.0, 4.0, 6.0]);
/// # }
/// ```
#[derive(Debug)]
pub struct DisjointSlice<T> {
    start: *mut T,
    length: usize,
}

impl<T: Element> DisjointSlice<T> {
    /// How many elements there are, of all threads together.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no element.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The element of the thread whose index this is, or `None` for a thread beyond the end.
    ///
    /// Only [`grid::<1>()`](grid) makes an index, and only the calling thread's own.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, index: impl OwnIndex<1>) -> Option<&mut T> {
        let index = index.own().get();
        // SAFETY: within the slice. No other thread has this index: the launch is 1-D. This thread
        // has no other reference to the element, since `self` is borrowed.
        (index < self.length).then(|| unsafe { &mut *self.start.add(index) })
    }

    /// The element of the thread whose index this is, to read.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: impl OwnIndex<1>) -> Option<&T> {
        let index = index.own().get();
        // SAFETY: as in `get_mut`.
        (index < self.length).then(|| unsafe { &*self.start.add(index) })
    }

    /// This thread's element, or `None` for a thread beyond the end: `get_mut(grid::<1>())`.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> Option<&mut T> {
        self.get_mut(grid::<1>())
    }

    /// This thread's elements when a grid of any size shares them out, with their indices: the
    /// thread's own, then one grid further each time.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(x: &[f32], mut y: DisjointSlice<f32>) {
    /// for (i, y) in y.grid_stride() {
    ///     *y = 2.0 * x[i];
    /// }
    /// # }
    /// ```
    #[inline(always)]
    pub fn grid_stride(&mut self) -> GridStrideMut<'_, T> {
        GridStrideMut {
            start: self.start,
            next: grid::<1>().get(),
            step: gridsize::<1>()[0],
            length: self.length,
            slice: PhantomData,
        }
    }
}

// SAFETY: pointer and length of the whole slice. A thread reaches only elements of its own index,
// modulo the grid's size, which is no other thread's in a launch of rank 1.
unsafe impl<T: Element> KernelParameter for DisjointSlice<T> {
    const ROLE: Role = Role::PerThread { rank: 1, elements: 1 };
    type Element = T;
    // A mutable reference rather than a pointer, which makes the parameter `noalias`.
    type A = &'static mut [T; 0];
    type B = usize;
    type C = ();
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, length: usize, (): (), (): ()) -> Self {
        Self {
            start: start_of(start),
            length,
        }
    }
}

/// See [`DisjointSlice::grid_stride`].
#[derive(Debug)]
pub struct GridStrideMut<'a, T> {
    start: *mut T,
    next: usize,
    step: usize,
    length: usize,
    slice: PhantomData<&'a mut T>,
}

impl<'a, T> Iterator for GridStrideMut<'a, T> {
    type Item = (usize, &'a mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index >= self.length {
            return None;
        }
        // A length is below 2⁶³ and a step below 2³¹.
        self.next = index.wrapping_add(self.step);
        // SAFETY: within the slice; each index is given out once, and to this thread only.
        Some((index, unsafe { &mut *self.start.add(index) }))
    }
}

impl<T> FusedIterator for GridStrideMut<'_, T> {}
