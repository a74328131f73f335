//! Outputs of columns: a thread goes through the layers of a volume.

use core::marker::PhantomData;
use core::ops::Range;

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role, demand};
use crate::device::thread::{OwnIndex, grid};

/// The layout of a volume in which each thread has the elements at row y, column x of all layers, or of `LAYERS` of them, those
/// from `LAYERS * z`. The last threads may have fewer.
///
/// For threads that go through the layers, where what one layer read is still at hand for the next. The host passes it with
/// its shape, `(&mut v, [layers, rows, columns])`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Adds up the layers from the top.
/// #[kernel]
/// pub fn sum_layers(mut v: Disjoint<u32, Layers>) {
///     if let Some(mut column) = v.own() {
///         let mut sum = 0;
///         column.each(|_, v| {
///             sum += *v;
///             *v = sum;
///         });
///     }
/// }
///
/// /// The number of each layer, eight layers for a thread.
/// #[kernel]
/// pub fn depths(mut v: Disjoint<u32, Layers<8>>) {
///     if let Some(mut column) = v.own() {
///         for layer in column.layers() {
///             column.get_mut(layer).map(|v| *v = layer as u32);
///         }
///         assert!(column.get_mut(column.layers().end).is_none());
///     }
/// }
///
/// # fn main() {
/// let mut v = vec![1_u32; 3 * 5 * 40];
/// examples::launch(((2, 1), (32, 8)), sum_layers((&mut v, [3, 5, 40])));
/// assert!(v.chunks(200).zip(1..).all(|(layer, sum)| layer.iter().all(|v| *v == sum)));
///
/// let mut v = vec![0_u32; 20 * 5 * 40];
/// examples::launch(((2, 1, 3), (32, 8, 1)), depths((&mut v, [20, 5, 40])));
/// assert!(v.chunks(200).zip(0..).all(|(layer, depth)| layer.iter().all(|v| *v == depth)));
/// # examples::becomes("sum_layers", &["ld.global", "st.global"]);
/// # }
/// ```
#[derive(Debug)]
pub enum Layers<const LAYERS: usize = { usize::MAX }> {}

impl<const LAYERS: usize> Sealed for Layers<LAYERS> {}

impl<const LAYERS: usize> Layout for Layers<LAYERS> {
    type Shape = [u32; 3];
    const ROLE: Role = {
        demand(LAYERS > 0, "a thread has at least one layer");
        Role::PerThread { rank: 3, elements: 1 }
    };
    const REACH: Reach = Reach::Thread([1, 1, LAYERS]);
}

impl<T: Element, const LAYERS: usize> Disjoint<'_, T, Layers<LAYERS>> {
    /// The column of the thread whose index this is, or `None` for a thread beyond the faces.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, index: impl OwnIndex<3>) -> Option<Column<'_, T>> {
        let [column, row, part] = index.own().to_array();
        let [layers, rows, columns] = self.shape();
        let first = (part as usize).saturating_mul(LAYERS);
        let distance = rows * columns;
        (first < layers && row < self.shape[1] && column < self.shape[2]).then(|| Column {
            start: self.start.wrapping_add(first * distance + row as usize * columns + column as usize),
            first,
            end: layers.min(first.saturating_add(LAYERS)),
            distance,
            volume: PhantomData,
        })
    }

    /// This thread's column: `get_mut(grid::<3>())`.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> Option<Column<'_, T>> {
        self.get_mut(grid::<3>())
    }
}

/// A thread's column of a volume: see [`Layers`].
#[derive(Debug)]
pub struct Column<'a, T> {
    start: *mut T,
    first: usize,
    end: usize,
    distance: usize,
    volume: PhantomData<&'a mut T>,
}

impl<T: Element> Column<'_, T> {
    /// The layers that the column has, by their numbers in the volume.
    #[inline(always)]
    #[must_use]
    pub fn layers(&self) -> Range<usize> {
        self.first..self.end
    }

    /// The element in a layer of the volume, or `None` if the column does not have it.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, layer: usize) -> Option<&mut T> {
        self.layers().contains(&layer).then(|| {
            let element = self.start.wrapping_add((layer - self.first) * self.distance);
            // SAFETY: inside the volume; the column is this thread's, by its row, column and layers, and borrowed.
            unsafe { &mut *element }
        })
    }

    /// Calls `work` with each layer's number and the column's element in it, from the column's first layer to its last.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(usize, &mut T)) {
        let mut element = self.start;
        for layer in self.layers() {
            // SAFETY: as in `get_mut`.
            work(layer, unsafe { &mut *element });
            element = element.wrapping_add(self.distance);
        }
    }
}
