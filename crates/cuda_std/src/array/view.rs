//! Slices seen as matrices and volumes, to read: one check when the view is made, and then a comparison of each index with the
//! shape instead of an offset with a length.
//!
//! The optimiser cannot multiply: it does not see that `row * columns + column` is inside when row and column are. A view
//! knows it.

use core::ops::Index;

/// A matrix in row-major order.
///
/// ```
/// use cuda_std::view::View2;
///
/// let numbers = [1, 2, 3, 4, 5, 6];
/// let matrix = View2::new(&numbers, [2, 3]);
/// assert_eq!(matrix[[1, 0]], 4);
/// assert_eq!(matrix.get([0, 3]), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View2<'a, T> {
    elements: &'a [T],
    rows: usize,
    columns: usize,
}

impl<'a, T> View2<'a, T> {
    /// The first `rows * columns` elements of a slice as a matrix.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn new(elements: &'a [T], [rows, columns]: [usize; 2]) -> Self {
        assert!(has(elements, [1, rows, columns]), "a slice has fewer elements than the shape of its view");
        Self { elements, rows, columns }
    }

    /// The element in a row and a column, or `None` outside.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: [usize; 2]) -> Option<&'a T> {
        // SAFETY: inside the shape.
        self.has(index).then(|| unsafe { self.element(index) })
    }

    #[inline(always)]
    fn has(&self, [row, column]: [usize; 2]) -> bool {
        row < self.rows && column < self.columns
    }

    /// # Safety
    /// The index is inside the shape.
    #[inline(always)]
    unsafe fn element(&self, [row, column]: [usize; 2]) -> &'a T {
        // SAFETY: the shape has no more elements than there are.
        unsafe { self.elements.get_unchecked(row * self.columns + column) }
    }
}

impl<T> Index<[usize; 2]> for View2<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: [usize; 2]) -> &T {
        if !self.has(index) {
            outside();
        }
        // SAFETY: inside the shape.
        unsafe { self.element(index) }
    }
}

/// A volume: layers of matrices.
///
/// ```
/// use cuda_std::view::View3;
///
/// let numbers = [1, 2, 3, 4, 5, 6];
/// let volume = View3::new(&numbers, [3, 1, 2]);
/// assert_eq!(volume[[2, 0, 1]], 6);
/// assert_eq!(volume.get([0, 1, 0]), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View3<'a, T> {
    elements: &'a [T],
    layers: usize,
    rows: usize,
    columns: usize,
}

impl<'a, T> View3<'a, T> {
    /// The first `layers * rows * columns` elements of a slice as a volume.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn new(elements: &'a [T], [layers, rows, columns]: [usize; 3]) -> Self {
        assert!(has(elements, [layers, rows, columns]), "a slice has fewer elements than the shape of its view");
        Self { elements, layers, rows, columns }
    }

    /// The element in a layer, a row and a column, or `None` outside.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: [usize; 3]) -> Option<&'a T> {
        // SAFETY: inside the shape.
        self.has(index).then(|| unsafe { self.element(index) })
    }

    #[inline(always)]
    fn has(&self, [layer, row, column]: [usize; 3]) -> bool {
        layer < self.layers && row < self.rows && column < self.columns
    }

    /// # Safety
    /// The index is inside the shape.
    #[inline(always)]
    unsafe fn element(&self, [layer, row, column]: [usize; 3]) -> &'a T {
        let line = layer * self.rows + row;
        // SAFETY: the shape has no more elements than there are.
        unsafe { self.elements.get_unchecked(line * self.columns + column) }
    }
}

impl<T> Index<[usize; 3]> for View3<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: [usize; 3]) -> &T {
        if !self.has(index) {
            outside();
        }
        // SAFETY: inside the shape.
        unsafe { self.element(index) }
    }
}

/// Whether a slice has the elements of a shape.
#[inline(always)]
fn has<T>(elements: &[T], [layers, rows, columns]: [usize; 3]) -> bool {
    match layers.checked_mul(rows).and_then(|lines| lines.checked_mul(columns)) {
        Some(count) => count <= elements.len(),
        None => false,
    }
}

#[cold]
#[track_caller]
fn outside() -> ! {
    panic!("an index is outside of the shape of a view")
}

#[cfg(test)]
mod tests {
    use super::{View2, View3};

    #[test]
    #[should_panic(expected = "fewer elements")]
    fn a_shape_needs_its_elements() {
        let _ = View2::new(&[0; 5], [2, 3]);
    }

    #[test]
    #[should_panic(expected = "fewer elements")]
    fn a_shape_that_overflows_is_refused() {
        let _ = View3::new(&[0; 5], [usize::MAX / 2, 3, 1]);
    }

    #[test]
    fn rows_and_columns_are_not_mixed_up() {
        let numbers: [usize; 24] = core::array::from_fn(|i| i);
        let volume = View3::new(&numbers, [2, 3, 4]);
        assert_eq!(volume[[1, 2, 3]], 23);
        assert_eq!(volume[[1, 0, 2]], 14);
        assert_eq!([[2, 0, 0], [0, 3, 0], [0, 0, 4]].map(|at| volume.get(at)), [None; 3]);
    }
}
