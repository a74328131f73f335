//! Outputs of any number of dimensions and strides.

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role, demand};
use crate::array::strided::{Dimensions, element};
use crate::device::thread::{OwnIndex, grid, gridsize};

/// The layout of an array of `N` dimensions, or a view of one, in which the thread at (x, y, z) has the elements whose last
/// three indices are x, y and z, the last being x; a grid of any size shares all elements out.
///
/// The host passes a runtime's array or view by mutable reference, or a slice with its shape: `(&mut c, [rows, columns])`.
/// See [`View`](crate::View), which reads one.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn number_all(mut c: Disjoint<u32, Array<3>>) {
///     c.each(|[layer, row, column], c| *c = (100 * layer + 10 * row + column) as u32);
/// }
///
/// # fn main() {
/// let mut c = [0; 12];
/// examples::launch((1, (2, 2)), number_all((&mut c, [2, 2, 3])));
/// assert_eq!(c, [0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112]);
/// # }
/// ```
#[derive(Debug)]
pub enum Array<const N: usize> {}

impl<const N: usize> Sealed for Array<N> {}

impl<const N: usize> Layout for Array<N> {
    type Shape = Dimensions<N>;
    const ROLE: Role = Role::PerThread {
        rank: {
            demand(N > 0, "an output of no dimensions is one element: make it one `PerBlock`");
            if N < 3 { N as u8 } else { 3 }
        },
        elements: 1,
    };
    const REACH: Reach = Reach::OneOrStrided;
}

impl<T: Element, const N: usize> Disjoint<'_, T, Array<N>> {
    /// Calls `work` with each of the thread's elements and its index: with one of them if the grid covers the array,
    /// with several, a grid apart, if it does not.
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut([usize; N], &mut T)) {
        let (position, size) = (grid::<3>().to_array(), gridsize::<3>());
        let shape = self.shape();
        // Axes that the grid does not have are walked by every thread.
        let (first, step): ([usize; N], [usize; N]) = (
            core::array::from_fn(|axis| position.get(N - 1 - axis).map_or(0, |&at| at as usize)),
            core::array::from_fn(|axis| size.get(N - 1 - axis).map_or(1, |&threads| threads)),
        );
        let mut at = first;
        loop {
            let Some(offset) = self.shape.offset(at) else {
                // Beyond the first elements of some axis: the thread has none. Later steps stay inside.
                return;
            };
            // SAFETY: inside the shape, whose elements are distinct. No other thread of the grid visits this index:
            // along each axis of the grid it would differ from the thread's own by less than a grid.
            work(at, unsafe { &mut *element(self.start, offset) });
            let mut axis = N;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                // Below 2³¹ each.
                at[axis] = at[axis].wrapping_add(step[axis]);
                if at[axis] < shape[axis] {
                    break;
                }
                at[axis] = first[axis];
            }
        }
    }
}

macro_rules! own {
    ($($rank:literal)*) => {$(
        impl<T: Element> Disjoint<'_, T, Array<$rank>> {
            /// The element of the thread whose index this is, or `None` for a thread outside.
            #[inline(always)]
            #[must_use]
            pub fn get_mut(&mut self, index: impl OwnIndex<$rank>) -> Option<&mut T> {
                let mut index = index.own().to_array().map(|at| at as usize);
                index.reverse();
                let offset = self.shape.offset(index)?;
                // SAFETY: inside the shape, whose elements are distinct. No other thread has this index, and this
                // thread has no other reference to the element, since `self` is borrowed.
                Some(unsafe { &mut *element(self.start, offset) })
            }

            /// This thread's element, or `None` for a thread outside.
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
        }
    )*};
}

own!(1 2 3);
