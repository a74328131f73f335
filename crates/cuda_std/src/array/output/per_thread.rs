//! Outputs of one element per thread: slices, matrices and volumes in row-major order.

use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role};
use crate::device::thread::{OwnIndex, ThreadIndex, grid, gridsize};

/// The layout in which each thread of a launch of `RANK` dimensions has one element: of a slice the one at x, of a matrix
/// (`PerThread<2>`) that in row y, column x, of a volume (`PerThread<3>`) that in layer z, row y, column x.
///
/// Neighbours along x are neighbours in memory, so a warp's writes are together. The host passes a matrix or a volume with
/// its shape, `(&mut c, [rows, columns])`.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel]
/// pub fn index_sums(mut c: Disjoint<u32, PerThread<2>>) {
///     let i = grid::<2>();
///     c.store((i.x() + i.y()) as u32);
/// }
///
/// # fn main() {
/// let mut c = [0; 6];
/// examples::launch((1, (3, 2)), index_sums((&mut c, [2, 3])));
/// assert_eq!(c, [0, 1, 2, 1, 2, 3]);
/// # }
/// ```
#[derive(Debug)]
pub enum PerThread<const RANK: usize> {}

mod sealed {
    use crate::device::thread::ThreadIndex;

    /// The layout for as many dimensions as an index has.
    pub trait Ranked<const RANK: usize>: super::Layout {
        /// Whether the thread of this index has an element, and where it would be.
        fn place(shape: Self::Shape, index: ThreadIndex<RANK>) -> (bool, usize);
    }
}
use sealed::Ranked;

macro_rules! ranks {
    ($($rank:literal: $shape:ty, $reach:expr;)*) => {$(
        impl Sealed for PerThread<$rank> {}

        impl Layout for PerThread<$rank> {
            type Shape = $shape;
            const ROLE: Role = Role::PerThread { rank: $rank, elements: 1 };
            const REACH: Reach = $reach;
        }
    )*};
}

ranks! {
    1: usize, Reach::OneOrStrided;
    2: [u32; 2], Reach::Thread([1, 1, 1]);
    3: [u32; 3], Reach::Thread([1, 1, 1]);
}

impl Ranked<1> for PerThread<1> {
    #[inline(always)]
    fn place(length: usize, index: ThreadIndex<1>) -> (bool, usize) {
        let index = index.get();
        (index < length, index)
    }
}

impl Ranked<2> for PerThread<2> {
    #[inline(always)]
    fn place([rows, columns]: [u32; 2], index: ThreadIndex<2>) -> (bool, usize) {
        let [column, row] = index.to_array();
        let offset = (row as usize).wrapping_mul(columns as usize).wrapping_add(column as usize);
        (row < rows && column < columns, offset)
    }
}

impl Ranked<3> for PerThread<3> {
    #[inline(always)]
    fn place([layers, rows, columns]: [u32; 3], index: ThreadIndex<3>) -> (bool, usize) {
        let [column, row, layer] = index.to_array();
        let line = (layer as usize).wrapping_mul(rows as usize).wrapping_add(row as usize);
        let offset = line.wrapping_mul(columns as usize).wrapping_add(column as usize);
        (layer < layers && row < rows && column < columns, offset)
    }
}

impl<T: Element, const RANK: usize> Disjoint<'_, T, PerThread<RANK>>
where
    PerThread<RANK>: Ranked<RANK>,
{
    /// The element of the thread whose index this is, or `None` for a thread beyond the end.
    ///
    /// Only [`grid`] makes an index, and only the calling thread's own.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, index: impl OwnIndex<RANK>) -> Option<&mut T> {
        let (is_inside, offset) = PerThread::<RANK>::place(self.shape, index.own());
        // SAFETY: inside. No other thread has this index, in a launch of as many dimensions at most. This thread has no other
        // reference to the element, since `self` is borrowed.
        is_inside.then(|| unsafe { &mut *self.element(offset) })
    }

    /// The element of the thread whose index this is, to read.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: impl OwnIndex<RANK>) -> Option<&T> {
        let (is_inside, offset) = PerThread::<RANK>::place(self.shape, index.own());
        // SAFETY: as in `get_mut`.
        is_inside.then(|| unsafe { &*self.element(offset) })
    }

    /// This thread's element, or `None` for a thread beyond the end.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> Option<&mut T> {
        self.get_mut(grid())
    }

    /// Writes the thread's element, if the thread owns an element.
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn store(&mut self, value: T) {
        if let Some(own) = self.own() {
            *own = value;
        }
    }

    /// # Safety
    /// The element exists.
    #[inline(always)]
    unsafe fn element(&self, offset: usize) -> *mut T {
        // SAFETY: the caller's. Several lengths hide from the compiler that this cannot wrap around to null.
        unsafe {
            let element = self.start.add(offset);
            if RANK > 1 {
                core::hint::assert_unchecked(!element.is_null());
            }
            element
        }
    }
}

impl<T: Element> Disjoint<'_, T, PerThread<1>> {
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
            length: self.shape,
            slice: PhantomData,
        }
    }
}

/// See [`Disjoint::grid_stride`].
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
