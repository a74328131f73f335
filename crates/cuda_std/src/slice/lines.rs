//! Outputs of whole rows or columns: a block or a warp for each row of a matrix, a thread for each column of a volume.

use core::marker::PhantomData;
use core::ops::Range;

use crate::parameter::{Element, KernelParameter, Role, start_of};
use crate::thread::{OwnIndex, block_dim_x, block_idx_x, grid, grid_dim_x, thread_idx_x};
use crate::warp::WARP_SIZE;

/// A matrix of which each block of a 1-D launch has a row, or each warp if `GROUP` is [`ByWarp`]; a grid of any size
/// shares all rows out. The threads of the block or warp have the row's elements in turn.
///
/// For work on rows that their threads do together: sums, norms, softmax. The host passes it with its shape,
/// `(&mut y, [rows, columns])`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Divides each row of y by its sum, one warp for each row.
/// #[kernel]
/// pub fn normalize_rows(mut y: DisjointRows<f32, ByWarp>) {
///     y.each_row(|_, mut row| {
///         let mut sum = 0.0;
///         row.each(|_, y| sum += *y);
///         let sum = warp::reduce_sum(sum);
///         row.each(|_, y| *y /= sum);
///     });
/// }
///
/// # fn main() {
/// let mut y = vec![2.0_f32; 7 * 50];
/// examples::launch((2, 64), normalize_rows((&mut y, [7, 50])));
/// assert_eq!(y, [0.02; 7 * 50]);
/// # examples::becomes("normalize_rows", &["shfl.sync.bfly.b32", "ld.global", "st.global"]);
/// # }
/// ```
#[derive(Debug)]
pub struct DisjointRows<T, GROUP = ByBlock> {
    start: *mut T,
    rows: u32,
    columns: u32,
    group: PhantomData<GROUP>,
}

/// Rows of [`DisjointRows`] belong to blocks.
#[derive(Debug)]
pub enum ByBlock {}

/// Rows of [`DisjointRows`] belong to warps. Blocks should be whole warps: lanes that a last warp lacks would leave
/// their elements out.
#[derive(Debug)]
pub enum ByWarp {}

/// What has a row: its number and how many there are in the grid, the thread's place in it and how many threads it has.
struct Member {
    group: u32,
    groups: u32,
    thread: u32,
    threads: u32,
}

mod sealed {
    #[expect(private_interfaces, reason = "the trait is sealed")]
    pub trait Group {
        fn member() -> super::Member;
    }
}
use sealed::Group;

#[expect(private_interfaces, reason = "the trait is sealed")]
impl Group for ByBlock {
    #[inline(always)]
    fn member() -> Member {
        Member {
            group: block_idx_x(),
            groups: grid_dim_x(),
            thread: thread_idx_x(),
            threads: block_dim_x(),
        }
    }
}

#[expect(private_interfaces, reason = "the trait is sealed")]
impl Group for ByWarp {
    #[inline(always)]
    fn member() -> Member {
        let warps = block_dim_x().div_ceil(WARP_SIZE);
        Member {
            // At most 2³¹ threads along x, and a warp for each at worst.
            group: block_idx_x()
                .wrapping_mul(warps)
                .wrapping_add(thread_idx_x() / WARP_SIZE),
            groups: grid_dim_x().wrapping_mul(warps),
            thread: thread_idx_x() % WARP_SIZE,
            threads: WARP_SIZE,
        }
    }
}

impl<T: Element, G: Group> DisjointRows<T, G> {
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

    /// Calls `work` with the number of each row of the calling thread's block or warp, and the thread's part of it.
    /// All threads of the block or warp are called with the same rows in the same order, so they may wait for each
    /// other in `work`.
    #[inline(always)]
    pub fn each_row(&mut self, mut work: impl FnMut(usize, Row<'_, T>)) {
        let Member {
            group,
            groups,
            thread,
            threads,
        } = G::member();
        let mut row = group as usize;
        while row < self.rows() {
            work(
                row,
                Row {
                    // SAFETY: the row is inside.
                    start: unsafe { self.start.add(row * self.columns()) },
                    columns: self.columns,
                    thread,
                    threads,
                    matrix: PhantomData,
                },
            );
            row += groups as usize;
        }
    }
}

/// A thread's part of a row: the elements in the columns of its own place among the threads of the block or warp, and
/// those whole blocks or warps further. See [`DisjointRows`].
#[derive(Debug)]
pub struct Row<'a, T> {
    start: *mut T,
    columns: u32,
    thread: u32,
    threads: u32,
    matrix: PhantomData<&'a mut T>,
}

impl<T: Element> Row<'_, T> {
    /// The columns of the thread's first `N` elements, some of which may lie beyond the end of the row.
    ///
    /// For kernels that keep their part of a row in registers; they end with [`write_each`](Self::write_each).
    #[inline(always)]
    #[must_use]
    pub fn places<const N: usize>(&self) -> [usize; N] {
        core::array::from_fn(|k| self.thread as usize + k * self.threads as usize)
    }

    /// Writes the thread's first `N` elements, less those beyond the end of the row: `value` is called with the number and
    /// the column of each.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(x: &[f32], mut y: DisjointRows<f32, ByWarp>) {
    /// // Rows of at most 128 elements, read once.
    /// let columns = y.columns();
    /// y.each_row(|row, mut y| {
    ///     let x = &x[row * columns..][..columns];
    ///     let own: [f32; 4] = y.places().map(|column| x.get(column).copied().unwrap_or(0.0));
    ///     let largest = warp::reduce(own.into_iter().fold(0.0, f32::max), f32::max);
    ///     y.write_each::<4>(|k, _| own[k] / largest);
    /// });
    /// # }
    /// ```
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn write_each<const N: usize>(&mut self, mut value: impl FnMut(usize, usize) -> T) {
        for (k, column) in self.places::<N>().into_iter().enumerate() {
            if column < self.columns as usize {
                let value = value(k, column);
                // SAFETY: inside the row, and no other thread's of those that have the row.
                unsafe { self.start.add(column).write(value) }
            }
        }
    }

    /// Calls `work` with the column of each of the thread's elements and the element.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(usize, &mut T)) {
        let mut column = self.thread as usize;
        while column < self.columns as usize {
            // SAFETY: inside the row, and no other thread's of those that have the row.
            work(column, unsafe { &mut *self.start.add(column) });
            column += self.threads as usize;
        }
    }
}

// SAFETY: pointer, rows and columns; the launcher checks that they multiply up to the elements that are there. In a
// launch of rank 1 a row is one block's or warp's, by the remainder of its number, and a column of it one thread's.
unsafe impl<T: Element, G> KernelParameter for DisjointRows<T, G> {
    const ROLE: Role = Role::PerThread { rank: 1, elements: 1 };
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
            group: PhantomData,
        }
    }
}

/// A volume of which each thread has a column at row y, column x: all layers, or `LAYERS` of them, those from
/// `LAYERS * z`. The last threads may have fewer.
///
/// For threads that go through the layers, where what one layer read is still at hand for the next. The host passes it with
/// its shape, `(&mut v, [layers, rows, columns])`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Adds up the layers from the top.
/// #[kernel]
/// pub fn sum_layers(mut v: DisjointColumns<u32>) {
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
/// pub fn depths(mut v: DisjointColumns<u32, 8>) {
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
pub struct DisjointColumns<T, const LAYERS: usize = { usize::MAX }> {
    start: *mut T,
    layers: u32,
    rows: u32,
    columns: u32,
}

impl<T: Element, const LAYERS: usize> DisjointColumns<T, LAYERS> {
    /// Layers, rows and columns of the volume.
    #[inline(always)]
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        [self.layers, self.rows, self.columns].map(|length| length as usize)
    }

    /// The column of the thread whose index this is, or `None` for a thread beyond the faces.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, index: impl OwnIndex<3>) -> Option<Column<'_, T>> {
        let [column, row, part] = index.own().to_array();
        let [layers, rows, columns] = self.shape();
        let first = (part as usize).saturating_mul(LAYERS);
        let distance = rows * columns;
        (first < layers && row < self.rows && column < self.columns).then(|| Column {
            start: self
                .start
                .wrapping_add(first * distance + row as usize * columns + column as usize),
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

/// A thread's column of a volume: see [`DisjointColumns`].
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
            // SAFETY: inside the volume; the column is this thread's, and borrowed.
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

// SAFETY: as for `DisjointSlice3`; a thread reaches the elements of its own row, column and layers only, and all layers are
// those of threads with z = 0.
unsafe impl<T: Element, const LAYERS: usize> KernelParameter for DisjointColumns<T, LAYERS> {
    const ROLE: Role = {
        assert!(LAYERS > 0, "a thread has at least one layer");
        Role::PerThread { rank: 3, elements: 1 }
    };
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
