//! Outputs of two and three dimensions, in row-major order.

use crate::parameter::{Element, KernelParameter, Role, start_of};
use crate::thread::{OwnIndex, grid};

/// A matrix with one element for each thread of a 2-D launch: row y, column x.
///
/// Neighbours along x are neighbours in memory, so a warp's writes are together. The host passes
/// it with its shape, `(&mut c, [rows, columns])`.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel]
/// pub fn index_sums(mut c: DisjointSlice2<u32>) {
///     let i = grid::<2>();
///     if let Some(c) = c.get_mut(i) {
///         *c = (i.x() + i.y()) as u32;
///     }
/// }
///
/// # fn main() {
/// let mut c = [0; 6];
/// examples::launch((1, (3, 2)), index_sums((&mut c, [2, 3])));
/// assert_eq!(c, [0, 1, 2, 1, 2, 3]);
/// # }
/// ```
#[derive(Debug)]
pub struct DisjointSlice2<T> {
    start: *mut T,
    rows: u32,
    columns: u32,
}

impl<T: Element> DisjointSlice2<T> {
    /// Rows of the matrix.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Columns of the matrix.
    #[inline(always)]
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    /// The element of the thread whose index this is, or `None` for a thread beyond the edges.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, index: impl OwnIndex<2>) -> Option<&mut T> {
        let [column, row] = index.own().to_array();
        (row < self.rows && column < self.columns).then(|| {
            let offset = row as usize * self.columns as usize + column as usize;
            // SAFETY: within the matrix. No other thread has this index: the launch is 2-D at most.
            // This thread has no other reference to the element, since `self` is borrowed.
            unsafe {
                let element = self.start.add(offset);
                // Two lengths hide from the compiler that this cannot wrap around to null.
                core::hint::assert_unchecked(!element.is_null());
                &mut *element
            }
        })
    }

    /// This thread's element, or `None` for a thread beyond the edges: `get_mut(grid::<2>())`.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> Option<&mut T> {
        self.get_mut(grid::<2>())
    }
}

// SAFETY: pointer, rows and columns; the launcher checks that they multiply up to the elements that
// are there. A thread reaches only the element of its own index, in a launch of rank 2 or less.
unsafe impl<T: Element> KernelParameter for DisjointSlice2<T> {
    const ROLE: Role = Role::PerThread { rank: 2, elements: 1 };
    type Element = T;
    type A = &'static mut [T; 0];
    type B = u32;
    type C = u32;
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, rows: u32, columns: u32, (): ()) -> Self {
        Self {
            start: start_of(start),
            rows,
            columns,
        }
    }
}

/// A volume with one element for each thread of a 3-D launch: layer z, row y, column x.
///
/// The host passes it with its shape, `(&mut c, [layers, rows, columns])`.
#[derive(Debug)]
pub struct DisjointSlice3<T> {
    start: *mut T,
    layers: u32,
    rows: u32,
    columns: u32,
}

impl<T: Element> DisjointSlice3<T> {
    /// Layers of the volume.
    #[inline(always)]
    #[must_use]
    pub fn layers(&self) -> usize {
        self.layers as usize
    }

    /// Rows of a layer.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Columns of a layer.
    #[inline(always)]
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    /// The element of the thread whose index this is, or `None` for a thread beyond the faces.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, index: impl OwnIndex<3>) -> Option<&mut T> {
        let [column, row, layer] = index.own().to_array();
        (layer < self.layers && row < self.rows && column < self.columns).then(|| {
            let line = layer as usize * self.rows as usize + row as usize;
            let offset = line * self.columns as usize + column as usize;
            // SAFETY: within the volume. No other thread has this index, and this thread has no
            // other reference to the element, since `self` is borrowed.
            unsafe {
                let element = self.start.add(offset);
                // Two lengths hide from the compiler that this cannot wrap around to null.
                core::hint::assert_unchecked(!element.is_null());
                &mut *element
            }
        })
    }

    /// This thread's element, or `None` for a thread beyond the faces: `get_mut(grid::<3>())`.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> Option<&mut T> {
        self.get_mut(grid::<3>())
    }
}

// SAFETY: as for `DisjointSlice2`, with a third length.
unsafe impl<T: Element> KernelParameter for DisjointSlice3<T> {
    const ROLE: Role = Role::PerThread { rank: 3, elements: 1 };
    type Element = T;
    type A = &'static mut [T; 0];
    type B = u32;
    type C = u32;
    type D = u32;
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, layers: u32, rows: u32, columns: u32) -> Self {
        Self {
            start: start_of(start),
            layers,
            rows,
            columns,
        }
    }
}
