//! Outputs of whole rows: a block or a warp for each row of a matrix.

use core::marker::PhantomData;

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role};
use crate::device::intrinsics::WARP_SIZE;
use crate::device::thread::{block_dim_x, block_idx_x, grid_dim_x, thread_idx_x};

/// The layout of a matrix in which each block of a 1-D launch has a row, or each warp if `GROUP` is [`ByWarp`]; a grid of any size
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
/// pub fn normalize_rows(mut y: Disjoint<f32, Rows<ByWarp>>) {
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
pub struct Rows<GROUP = ByBlock>(PhantomData<GROUP>);

/// Rows of [`Rows`] belong to blocks.
#[derive(Debug)]
pub enum ByBlock {}

/// Rows of [`Rows`] belong to warps. Blocks should be whole warps: lanes that a last warp lacks would leave
/// their elements out.
#[derive(Debug)]
pub enum ByWarp {}

/// The owner of a row: the row's number, the number of rows, the thread's index in the row, and the row's threads.
#[derive(Debug)]
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
        Member { group: block_idx_x(), groups: grid_dim_x(), thread: thread_idx_x(), threads: block_dim_x() }
    }
}

#[expect(private_interfaces, reason = "the trait is sealed")]
impl Group for ByWarp {
    #[inline(always)]
    fn member() -> Member {
        let warps = block_dim_x().div_ceil(WARP_SIZE);
        Member {
            // At most 2³¹ threads along x, and a warp for each at worst.
            group: block_idx_x().wrapping_mul(warps).wrapping_add(thread_idx_x() / WARP_SIZE),
            groups: grid_dim_x().wrapping_mul(warps),
            thread: thread_idx_x() % WARP_SIZE,
            threads: WARP_SIZE,
        }
    }
}

impl<G: Group> Sealed for Rows<G> {}

impl<G: Group> Layout for Rows<G> {
    type Shape = [u32; 2];
    const ROLE: Role = Role::PerThread { rank: 1, elements: 1 };
    const REACH: Reach = Reach::All;
}

impl<T: Element, G: Group> Disjoint<'_, T, Rows<G>> {
    /// The rows of the calling thread's block or warp: of each its number, and the thread's part of it.
    /// All threads of the block or warp get the same rows in the same order, so they may wait for each other between two rows.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// Subtracts from each row its mean, one block for each row.
    /// #[kernel]
    /// pub fn centre_rows(mut y: Disjoint<f32, Rows>, mut block: BlockScratch<f32>) {
    ///     let columns = y.columns();
    ///     for (_, mut row) in y.rows_mut() {
    ///         let mut sum = 0.0;
    ///         row.each(|_, y| sum += *y);
    ///         let mean = block.reduce_sum(sum) / columns as f32;
    ///         row.each(|_, y| *y -= mean);
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let mut y: Vec<f32> = (0..7 * 50).map(|i| (i % 50) as f32).collect();
    /// examples::launch((3, 64), centre_rows((&mut y, [7, 50])));
    /// assert!((0..7 * 50).all(|i| y[i] == (i % 50) as f32 - 24.5));
    /// # }
    /// ```
    #[inline(always)]
    #[must_use = "rows are written through what this gives"]
    pub fn rows_mut(&mut self) -> RowsMut<'_, T> {
        let member = G::member();
        RowsMut { start: self.start, shape: self.shape, next: member.group as usize, member, matrix: PhantomData }
    }

    /// Calls `work` with each of the [rows](Self::rows_mut) of the calling thread's block or warp.
    #[inline(always)]
    pub fn each_row(&mut self, mut work: impl FnMut(usize, Row<'_, T>)) {
        for (row, part) in self.rows_mut() {
            work(row, part);
        }
    }
}

/// The rows of a block or warp: see [`rows_mut`](Disjoint::rows_mut).
#[derive(Debug)]
pub struct RowsMut<'a, T> {
    start: *mut T,
    shape: [u32; 2],
    next: usize,
    member: Member,
    matrix: PhantomData<&'a mut T>,
}

impl<'a, T: Element> Iterator for RowsMut<'a, T> {
    type Item = (usize, Row<'a, T>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (row, [rows, columns]) = (self.next, self.shape);
        if row >= rows as usize {
            return None;
        }
        self.next += self.member.groups as usize;
        let part = Row {
            // SAFETY: the row is inside. One block or warp owns the row, by the remainder of its number in a launch of
            // rank 1, and receives it once; and one thread owns each column of the row.
            start: unsafe { self.start.add(row * columns as usize) },
            columns,
            thread: self.member.thread,
            threads: self.member.threads,
            matrix: PhantomData,
        };
        Some((row, part))
    }
}

/// A thread's part of a row: the elements in the columns of its own place among the threads of the block or warp, and
/// those whole blocks or warps further. See [`Rows`].
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
    /// For kernels that keep their part of a row in registers; they end with [`store_with`](Self::store_with).
    #[inline(always)]
    #[must_use]
    pub fn indices<const N: usize>(&self) -> [usize; N] {
        core::array::from_fn(|k| self.thread as usize + k * self.threads as usize)
    }

    /// Writes the thread's first `N` elements, less those beyond the end of the row: `value` is called with the number and
    /// the column of each.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(x: &[f32], mut y: Disjoint<f32, Rows<ByWarp>>) {
    /// // Rows of at most 128 elements, read once.
    /// let columns = y.columns();
    /// y.each_row(|row, mut y| {
    ///     let x = &x[row * columns..][..columns];
    ///     let own: [f32; 4] = y.indices().map(|column| x.get(column).copied().unwrap_or(0.0));
    ///     let largest = warp::reduce(own.into_iter().fold(0.0, f32::max), f32::max);
    ///     y.store_with::<4>(|k, _| own[k] / largest);
    /// });
    /// # }
    /// ```
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn store_with<const N: usize>(&mut self, mut value: impl FnMut(usize, usize) -> T) {
        for (k, column) in self.indices::<N>().into_iter().enumerate() {
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
