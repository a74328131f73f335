//! Views of arrays of any number of dimensions: slices with ranges and steps, transposes, broadcasts, read and written
//! where they lie.
//!
//! A view is an address, lengths and strides of 32 bits. An index is compared with its length and multiplied with its
//! stride: a comparison and a multiplication for each dimension. Kernels write arrays with many threads by a
//! [`Strided`](crate::output::Array) output; slices in row-major order are cheaper as [`view`](crate::view)s.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use bytemuck::{Pod, Zeroable};

use crate::abi::parameter::{Element, KernelParameter, Role};

/// The longest axis of a view, and the longest stride in elements: 2³¹ - 1.
pub(crate) const LONGEST: usize = i32::MAX as usize;

/// Lengths and strides of a view, as they are passed to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dimensions<const N: usize> {
    /// How long each axis is: at most 2³¹ - 1.
    pub(crate) lengths: [u32; N],
    /// How many elements further the next element of each axis is.
    pub(crate) strides: [i32; N],
}

// SAFETY: zeros are valid, as for all integers.
unsafe impl<const N: usize> Zeroable for Dimensions<N> {}
// SAFETY: integers of 4 bytes, without padding.
unsafe impl<const N: usize> Pod for Dimensions<N> {}

impl<const N: usize> Dimensions<N> {
    /// The dimensions of an array in row-major order, or `None` if an axis or a stride is longer than 2³¹ - 1.
    #[inline(always)]
    fn row_major(shape: [usize; N]) -> Option<Self> {
        let (mut lengths, mut strides) = ([0; N], [0; N]);
        let mut stride = 1_usize;
        let mut axis = N;
        while axis > 0 {
            axis -= 1;
            if shape[axis] > LONGEST || stride > LONGEST {
                return None;
            }
            lengths[axis] = shape[axis] as u32;
            strides[axis] = stride as i32;
            stride = stride.checked_mul(shape[axis])?;
        }
        Some(Self { lengths, strides })
    }

    /// Where an element is, or `None` outside.
    #[inline(always)]
    pub(crate) fn offset(&self, index: [usize; N]) -> Option<isize> {
        let mut offset = 0_i64;
        let mut axis = 0;
        while axis < N {
            if index[axis] >= self.lengths[axis] as usize {
                return None;
            }
            // Both have 32 bits, and the sum is within an allocation.
            offset = offset.wrapping_add(i64::from(index[axis] as i32).wrapping_mul(i64::from(self.strides[axis])));
            axis += 1;
        }
        Some(offset as isize)
    }

    /// The lengths.
    #[inline(always)]
    pub(crate) fn shape(&self) -> [usize; N] {
        self.lengths.map(|length| length as usize)
    }

    /// The axes in the opposite order.
    #[inline(always)]
    fn reversed(mut self) -> Self {
        self.lengths.reverse();
        self.strides.reverse();
        self
    }
}

/// Elements in `N` dimensions that are read where they lie, whatever their strides.
///
/// As a kernel's parameter it takes a runtime's arrays and views of them, host slices (in one dimension), and
/// `(&slice, [rows, columns])`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// c = a + the transpose of b, whatever they are views of.
/// #[kernel]
/// pub fn add_views(a: View<f32, 2>, b: View<f32, 2>, mut c: Disjoint<f32, Array<2>>) {
///     let b = b.transposed();
///     c.each(|at, c| *c = a[at] + b[at]);
/// }
///
/// # fn main() {
/// let (a, b) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [10.0_f32, 20.0, 30.0, 40.0, 50.0, 60.0]);
/// let mut c = [0.0_f32; 6];
/// examples::launch((1, (32, 8)), add_views((&a, [2, 3]), (&b, [3, 2]), (&mut c, [2, 3])));
/// assert_eq!(c, [11.0, 32.0, 53.0, 24.0, 45.0, 66.0]);
/// # examples::becomes("add_views", &["ld.global", "st.global"]);
/// # examples::avoids("add_views", &["div", "ld.local"]);
/// # }
/// ```
///
/// On the host a view of a slice serves to test functions that take views.
pub struct View<'a, T, const N: usize> {
    start: *const T,
    dimensions: Dimensions<N>,
    elements: PhantomData<&'a [T]>,
}

// SAFETY: it is a shared borrow of its elements.
unsafe impl<T: Sync, const N: usize> Send for View<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for View<'_, T, N> {}

impl<T, const N: usize> Clone for View<'_, T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const N: usize> Copy for View<'_, T, N> {}

impl<'a, T, const N: usize> View<'a, T, N> {
    /// A slice as an array in row-major order: the last axis is the fastest.
    ///
    /// ```
    /// use cuda_std::View;
    ///
    /// let matrix = View::new(&[1, 2, 3, 4, 5, 6], [2, 3]);
    /// assert_eq!((matrix[[1, 0]], matrix.transposed()[[1, 0]]), (4, 2));
    /// assert_eq!(matrix.get([2, 0]), None);
    /// ```
    ///
    /// # Panics
    /// If the length of the slice does not fit the shape, or an axis is longer than 2³¹ - 1.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn new(elements: &'a [T], shape: [usize; N]) -> Self {
        Self { start: elements.as_ptr(), dimensions: of_slice(elements.len(), shape), elements: PhantomData }
    }

    /// # Safety
    /// The dimensions describe existing elements, which are not written during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn from_parts(start: *const T, dimensions: Dimensions<N>) -> Self {
        Self { start, dimensions, elements: PhantomData }
    }

    /// Address and dimensions.
    #[inline(always)]
    pub(crate) fn parts(&self) -> (*const T, &Dimensions<N>) {
        (self.start, &self.dimensions)
    }

    /// The length of each axis.
    #[inline(always)]
    #[must_use]
    pub fn shape(&self) -> [usize; N] {
        self.dimensions.shape()
    }

    /// The number of elements; saturates at `usize::MAX` for a view that repeats elements.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape().into_iter().fold(1, usize::saturating_mul)
    }

    /// Whether there is no element.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // Without branches: where it was asked before, the compiler then knows the answer.
        let (mut empty, mut axis) = (false, 0);
        while axis < N {
            empty |= self.dimensions.lengths[axis] == 0;
            axis += 1;
        }
        empty
    }

    /// The element at an index, or `None` outside.
    ///
    /// `ld.global`; PTX 1.0.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: [usize; N]) -> Option<&'a T> {
        let offset = self.dimensions.offset(index)?;
        // SAFETY: inside the shape.
        Some(unsafe { &*element(self.start.cast_mut(), offset) })
    }

    /// The element at an index, or the nearest existing element; `None` if the view is empty. Branch-free, so that many
    /// reads can be pending at a time: for values that are not used when the index is outside.
    ///
    /// ```
    /// use cuda_std::View;
    ///
    /// let matrix = View::new(&[1, 2, 3, 4, 5, 6], [2, 3]);
    /// assert_eq!([[1, 1], [1, 9], [9, 0]].map(|at| matrix.nearest(at)), [Some(&5), Some(&6), Some(&4)]);
    /// assert_eq!(View::<u32, 2>::new(&[], [2, 0]).nearest([0, 0]), None);
    /// ```
    ///
    /// `ld.global`; PTX 1.0.
    #[inline(always)]
    #[must_use]
    pub fn nearest(&self, index: [usize; N]) -> Option<&'a T> {
        if self.is_empty() {
            return None;
        }
        let mut offset = 0_i64;
        let mut axis = 0;
        while axis < N {
            let last = self.dimensions.lengths[axis] - 1;
            let at = if index[axis] < last as usize { index[axis] as u32 } else { last };
            offset = offset.wrapping_add(i64::from(at as i32).wrapping_mul(i64::from(self.dimensions.strides[axis])));
            axis += 1;
        }
        // SAFETY: inside the shape, which has elements.
        Some(unsafe { &*element(self.start.cast_mut(), offset as isize) })
    }

    /// The element at an index and the three that follow it along the last axis, with `beyond` for each that is outside: read at
    /// once where they lie one after the other at a multiple of their size.
    ///
    /// ```
    /// use cuda_std::View;
    ///
    /// let matrix = View::new(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [2, 5]);
    /// assert_eq!(matrix.four([0, 0], 0), [1, 2, 3, 4]);
    /// assert_eq!(matrix.four([1, 3], 0), [9, 10, 0, 0]);
    /// assert_eq!(matrix.four([2, 0], -1), [-1; 4]);
    /// assert_eq!(matrix.transposed().four([4, 0], 0), [5, 10, 0, 0]);
    /// ```
    ///
    /// `ld.global.v4`; PTX 1.0.
    #[inline(always)]
    #[must_use]
    pub fn four(&self, index: [usize; N], beyond: T) -> [T; 4]
    where
        T: Pod,
    {
        const { assert!(N > 0, "a view without axes has no neighbours") };
        let Some(offset) = self.dimensions.offset(index) else {
            return [beyond; 4];
        };
        let left = self.dimensions.lengths[N - 1] as usize - index[N - 1];
        let stride = self.dimensions.strides[N - 1] as isize;
        // SAFETY: inside the shape.
        let first = unsafe { element(self.start.cast_mut(), offset) };
        if stride == 1 && left >= 4 && first.addr().is_multiple_of(4 * size_of::<T>()) {
            // SAFETY: four elements from here on are inside the shape, and aligned as was asked.
            return unsafe { read_four(first) };
        }
        let get = |number: usize| {
            if number < left {
                // SAFETY: inside the shape.
                unsafe { *element(self.start.cast_mut(), offset + number as isize * stride) }
            } else {
                beyond
            }
        };
        [get(0), get(1), get(2), get(3)]
    }

    /// The axes in the opposite order: of a matrix the transpose. Nothing moves.
    #[inline(always)]
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { dimensions: self.dimensions.reversed(), ..self }
    }
}

impl<'a, T> View<'a, T, 2> {
    /// A row of a matrix.
    ///
    /// # Panics
    /// If `row` is out of bounds.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn row(&self, row: usize) -> View<'a, T, 1> {
        let Dimensions { lengths, strides } = self.dimensions;
        if row >= lengths[0] as usize {
            outside();
        }
        let start = self.start.wrapping_offset((i64::from(row as i32) * i64::from(strides[0])) as isize);
        View { start, dimensions: Dimensions { lengths: [lengths[1]], strides: [strides[1]] }, elements: PhantomData }
    }

    /// A column of a matrix.
    ///
    /// # Panics
    /// If `column` is out of bounds.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn column(&self, column: usize) -> View<'a, T, 1> {
        self.transposed().row(column)
    }
}

impl<T, const N: usize> Index<[usize; N]> for View<'_, T, N> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: [usize; N]) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => outside(),
        }
    }
}

impl<T> Index<usize> for View<'_, T, 1> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        &self[[index]]
    }
}

impl<T, const N: usize> fmt::Debug for View<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("dimensions", &self.dimensions).finish()
    }
}

// SAFETY: address and dimensions of elements that no thread writes; see `Argument` for views.
unsafe impl<T: Element + Copy, const N: usize> KernelParameter for View<'_, T, N> {
    const ROLE: Role = Role::Input;
    type Element = T;
    // A reference rather than a pointer: see `[T]`.
    type A = &'static [T; 0];
    type B = Dimensions<N>;
    type C = ();
    type D = ();
    type Value<'l> = View<'l, T, N>;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, dimensions: Self::B, (): (), (): ()) -> Self::Value<'static> {
        // Whether memory is aligned for the element.
        let _ = T::ROLE;
        // SAFETY: the caller passes what the launch was given.
        unsafe { View::from_parts(start.as_ptr(), dimensions) }
    }
}

/// Elements in `N` dimensions that one thread alone reads and writes: what a function for `#[guvectorize]` writes its
/// results to.
///
/// ```
/// use cuda_std::ViewMut;
///
/// let mut numbers = [0; 6];
/// let mut matrix = ViewMut::new(&mut numbers, [2, 3]);
/// matrix[[1, 2]] = 7;
/// assert_eq!(numbers[5], 7);
/// ```
pub struct ViewMut<'a, T, const N: usize> {
    start: *mut T,
    dimensions: Dimensions<N>,
    elements: PhantomData<&'a mut [T]>,
}

// SAFETY: it is a mutable borrow of its elements.
unsafe impl<T: Send, const N: usize> Send for ViewMut<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for ViewMut<'_, T, N> {}

impl<'a, T, const N: usize> ViewMut<'a, T, N> {
    /// A slice as an array in row-major order: the last axis is the fastest.
    ///
    /// # Panics
    /// If the length of the slice does not fit the shape, or an axis is longer than 2³¹ - 1.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn new(elements: &'a mut [T], shape: [usize; N]) -> Self {
        Self { dimensions: of_slice(elements.len(), shape), start: elements.as_mut_ptr(), elements: PhantomData }
    }

    /// # Safety
    /// The dimensions describe existing, distinct elements, which are not used elsewhere during `'a`.
    #[inline(always)]
    pub(crate) unsafe fn from_parts(start: *mut T, dimensions: Dimensions<N>) -> Self {
        Self { start, dimensions, elements: PhantomData }
    }

    /// The length of each axis.
    #[inline(always)]
    #[must_use]
    pub fn shape(&self) -> [usize; N] {
        self.dimensions.shape()
    }

    /// A read-only view of the elements.
    #[inline(always)]
    #[must_use]
    pub fn as_view(&self) -> View<'_, T, N> {
        // SAFETY: borrowed from `self`.
        unsafe { View::from_parts(self.start, self.dimensions) }
    }

    /// The element at an index, or `None` outside.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, index: [usize; N]) -> Option<&mut T> {
        let offset = self.dimensions.offset(index)?;
        // SAFETY: inside the shape, and `self` is borrowed mutably.
        Some(unsafe { &mut *element(self.start, offset) })
    }

    /// Sets all elements.
    #[inline(always)]
    pub fn fill(&mut self, value: T)
    where
        T: Copy,
    {
        if self.dimensions.lengths.contains(&0) {
            return;
        }
        let mut at = [0; N];
        loop {
            if let Some(element) = self.get_mut(at) {
                *element = value;
            }
            let mut axis = N;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                at[axis] += 1;
                if at[axis] < self.dimensions.lengths[axis] as usize {
                    break;
                }
                at[axis] = 0;
            }
        }
    }
}

impl<T, const N: usize> Index<[usize; N]> for ViewMut<'_, T, N> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: [usize; N]) -> &T {
        match self.as_view().get(index) {
            Some(element) => element,
            None => outside(),
        }
    }
}

impl<T, const N: usize> IndexMut<[usize; N]> for ViewMut<'_, T, N> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        match self.get_mut(index) {
            Some(element) => element,
            None => outside(),
        }
    }
}

impl<T> Index<usize> for ViewMut<'_, T, 1> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        &self[[index]]
    }
}

impl<T> IndexMut<usize> for ViewMut<'_, T, 1> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self[[index]]
    }
}

impl<T, const N: usize> fmt::Debug for ViewMut<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewMut").field("dimensions", &self.dimensions).finish()
    }
}

/// An element by its place.
///
/// # Safety
/// The element exists.
#[inline(always)]
pub(crate) unsafe fn element<T>(start: *mut T, offset: isize) -> *mut T {
    let element = start.wrapping_offset(offset);
    // SAFETY: the caller's. Strides hide from the compiler that this cannot wrap around to null.
    unsafe { core::hint::assert_unchecked(!element.is_null()) };
    element
}

/// Four elements at once.
///
/// # Safety
/// The elements exist, and the first lies at a multiple of the size of all.
#[inline(always)]
pub(crate) unsafe fn read_four<T: Pod>(first: *const T) -> [T; 4] {
    #[derive(Clone, Copy)]
    #[repr(C, align(16))]
    struct Sixteen([u32; 4]);

    // SAFETY: the caller's; what is read has the size of four elements, which may have any bits.
    unsafe {
        match size_of::<T>() {
            1 => core::mem::transmute_copy(&first.cast::<u32>().read()),
            2 => core::mem::transmute_copy(&first.cast::<u64>().read()),
            4 => core::mem::transmute_copy(&first.cast::<Sixteen>().read()),
            _ => first.cast::<[T; 4]>().read(),
        }
    }
}

/// The dimensions of a slice as an array.
#[inline(always)]
#[track_caller]
fn of_slice<const N: usize>(elements: usize, shape: [usize; N]) -> Dimensions<N> {
    match Dimensions::row_major(shape) {
        Some(dimensions) if shape.iter().product::<usize>() == elements => dimensions,
        Some(_) => panic!("a slice has not as many elements as the shape of its view"),
        None => panic!("an axis of a view is longer than 2147483647"),
    }
}

#[cold]
#[track_caller]
pub(crate) fn outside() -> ! {
    panic!("an index is outside of the shape of a view")
}

#[cfg(test)]
mod tests {
    use super::{View, ViewMut};

    #[test]
    fn rows_columns_and_transposes() {
        let numbers: [usize; 24] = core::array::from_fn(|i| i);
        let volume = View::new(&numbers, [2, 3, 4]);
        assert_eq!(volume[[1, 2, 3]], 23);
        assert_eq!(volume.transposed().shape(), [4, 3, 2]);
        assert_eq!(volume.transposed()[[3, 2, 1]], 23);
        assert_eq!([[2, 0, 0], [0, 3, 0], [0, 0, 4]].map(|at| volume.get(at)), [None; 3]);
        let matrix = View::new(&numbers, [4, 6]);
        assert_eq!((matrix.row(2)[1], matrix.column(5)[3]), (13, 23));
        assert_eq!(matrix.column(5).get([4]), None);
    }

    #[test]
    fn four_at_once_or_one_by_one() {
        #[repr(align(16))]
        struct Aligned([u16; 24]);
        let numbers = Aligned(core::array::from_fn(|i| i as u16));
        let volume = View::new(&numbers.0, [2, 3, 4]);
        assert_eq!(volume.four([1, 2, 0], 99), [20, 21, 22, 23]);
        assert_eq!(volume.four([1, 2, 1], 99), [21, 22, 23, 99]);
        assert_eq!(volume.four([0, 1, 3], 99), [7, 99, 99, 99]);
        // In the next row there would be numbers.
        assert_eq!([[2, 0, 0], [0, 3, 0], [0, 0, 4]].map(|at| volume.four(at, 99)), [[99; 4]; 3]);
        // Neither aligned nor one after the other.
        let odd = View::new(&numbers.0[1..21], [4, 5]);
        assert_eq!(odd.four([3, 0], 99), [16, 17, 18, 19]);
        assert_eq!(odd.transposed().four([2, 1], 99), [8, 13, 18, 99]);
    }

    #[test]
    fn all_elements_are_filled() {
        let mut numbers = [1; 7];
        ViewMut::new(&mut numbers[..6], [2, 3]).fill(9);
        assert_eq!(numbers, [9, 9, 9, 9, 9, 9, 1]);
        let mut one = [1];
        ViewMut::new(&mut one, []).fill(2);
        assert_eq!(one, [2]);
        ViewMut::new(&mut numbers[..0], [3, 0]).fill(2);
    }

    #[test]
    #[should_panic(expected = "not as many elements")]
    fn a_shape_has_all_elements() {
        let _ = View::new(&[0; 7], [2, 3]);
    }

    #[test]
    #[should_panic(expected = "longer than")]
    fn a_shape_that_overflows_is_refused() {
        let _ = View::new(&[0; 6], [usize::MAX / 2, 3]);
    }
}
