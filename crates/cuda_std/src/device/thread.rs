//! Where a thread is: indices of threads and blocks in one to three dimensions.
//!
//! A launch is a grid of blocks, a block is a box of threads. [`grid`] and [`gridsize`] are
//! Numba's: the thread's position in the whole grid, and how many threads the grid has.
//!
//! Indices fit 31 bits in each direction, which launches by a typed launcher are checked for, so
//! index arithmetic is done in 32 bits.

use core::cmp::Ordering;
use core::marker::PhantomData;
use core::ops::Index;

use glam::{UVec2, UVec3};

use crate::device::intrinsics;
pub use crate::device::sync::{
    block_fence, device_fence, nanosleep, sync_threads, sync_threads_and, sync_threads_count, sync_threads_or,
    system_fence,
};

/// The three special registers of one kind, as plain functions.
macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name() -> u32 {
            intrinsics::$name()
        }
    )*};
}

registers! {
    /// The thread's index in its block along x, below 1024. `%tid.x`; PTX 2.0.
    thread_idx_x;
    /// The thread's index in its block along y, below 1024. `%tid.y`; PTX 2.0.
    thread_idx_y;
    /// The thread's index in its block along z, below 64. `%tid.z`; PTX 2.0.
    thread_idx_z;
    /// Threads of a block along x. `%ntid.x`; PTX 2.0.
    block_dim_x;
    /// Threads of a block along y. `%ntid.y`; PTX 2.0.
    block_dim_y;
    /// Threads of a block along z. `%ntid.z`; PTX 2.0.
    block_dim_z;
    /// The block's index in the grid along x. `%ctaid.x`; PTX 2.0.
    block_idx_x;
    /// The block's index in the grid along y. `%ctaid.y`; PTX 2.0.
    block_idx_y;
    /// The block's index in the grid along z. `%ctaid.z`; PTX 2.0.
    block_idx_z;
    /// Blocks of the grid along x. `%nctaid.x`; PTX 2.0.
    grid_dim_x;
    /// Blocks of the grid along y. `%nctaid.y`; PTX 2.0.
    grid_dim_y;
    /// Blocks of the grid along z. `%nctaid.z`; PTX 2.0.
    grid_dim_z;
    /// The thread's place in its warp, below 32. `%laneid`; PTX 2.0.
    lane_id;
}

/// Cycles that the multiprocessor has counted: CUDA's `clock64()`. `%clock64`; PTX 2.0, sm_20.
#[inline(always)]
#[must_use]
pub fn clock() -> u64 {
    intrinsics::clock()
}

/// The device's time in nanoseconds, in steps of a microsecond or so. `%globaltimer`; PTX 3.1,
/// sm_30.
#[inline(always)]
#[must_use]
pub fn global_timer() -> u64 {
    intrinsics::global_timer()
}

/// The thread's index in its block.
#[inline(always)]
#[must_use]
pub fn thread_idx() -> UVec3 {
    UVec3 { x: thread_idx_x(), y: thread_idx_y(), z: thread_idx_z() }
}

/// The block's index in the grid.
#[inline(always)]
#[must_use]
pub fn block_idx() -> UVec3 {
    UVec3 { x: block_idx_x(), y: block_idx_y(), z: block_idx_z() }
}

/// Threads of a block.
#[inline(always)]
#[must_use]
pub fn block_dim() -> UVec3 {
    UVec3 { x: block_dim_x(), y: block_dim_y(), z: block_dim_z() }
}

/// Blocks of the grid.
#[inline(always)]
#[must_use]
pub fn grid_dim() -> UVec3 {
    UVec3 { x: grid_dim_x(), y: grid_dim_y(), z: grid_dim_z() }
}

/// Position of a thread along one dimension of the grid.
#[inline(always)]
fn position(block: u32, threads: u32, thread: u32) -> u32 {
    // SAFETY: the launch contract: fewer than 2³¹ threads along each dimension.
    unsafe { block.unchecked_mul(threads).unchecked_add(thread) }
}

/// The thread's index in the grid along x.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    position(block_idx_x(), block_dim_x(), thread_idx_x())
}

/// The thread's index in the grid along x and y.
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    UVec2 { x: index_1d(), y: position(block_idx_y(), block_dim_y(), thread_idx_y()) }
}

/// The thread's index in the grid along x, y and z.
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    UVec3 { x: index_1d(), y: index_2d().y, z: position(block_idx_z(), block_dim_z(), thread_idx_z()) }
}

/// The thread's number in its block, counted along x, then y, then z: below 1024.
#[inline(always)]
#[must_use]
pub fn index_in_block() -> u32 {
    let (threads, thread) = (block_dim(), thread_idx());
    // SAFETY: a block has at most 1024 threads.
    unsafe {
        let layer = thread.z.unchecked_mul(threads.y).unchecked_add(thread.y);
        layer.unchecked_mul(threads.x).unchecked_add(thread.x)
    }
}

/// How many threads a block has, along all dimensions together: at most 1024.
#[inline(always)]
#[must_use]
pub fn threads_in_block() -> u32 {
    let threads = block_dim();
    // SAFETY: a block has at most 1024 threads.
    unsafe { threads.x.unchecked_mul(threads.y).unchecked_mul(threads.z) }
}

/// The block's number in the grid, counted along x, then y, then z.
#[inline(always)]
#[must_use]
pub fn block_number() -> u64 {
    let (blocks, block) = (grid_dim(), block_idx());
    let wide = u64::from;
    // At most 2³¹ · 2¹⁶ · 2¹⁶ blocks.
    wide(block.x).wrapping_add(
        wide(blocks.x).wrapping_mul(wide(block.y).wrapping_add(wide(blocks.y).wrapping_mul(wide(block.z)))),
    )
}

/// Whether this is the first thread of its block.
#[inline(always)]
#[must_use]
pub fn is_first_in_block() -> bool {
    let thread = thread_idx();
    (thread.x | thread.y | thread.z) == 0
}

/// The calling thread's own position in the grid, in `N` dimensions: see [`grid`].
///
/// The index is also the key to the thread's own element of an output, so an index can be neither forged nor passed to
/// another thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadIndex<const N: usize> {
    /// x first.
    position: [u32; N],
    /// Not `Send`, not `Sync`.
    here: PhantomData<*const ()>,
}

/// The thread's position in the grid, in 1, 2 or 3 dimensions: Numba's `grid(n)`.
///
/// A one-dimensional position indexes slices directly; [`get`](ThreadIndex::get) converts it to a number.
///
/// ```
/// # use cuda_std::prelude::*;
/// # fn kernel(x: &[f32], mut y: DisjointSlice<f32>) {
/// let i = grid::<1>();
/// if let Some(y) = y.get_mut(i) {
///     *y = 2.0 * x[i];
/// }
/// # }
/// ```
///
/// `mad.lo.s32` of `%ctaid`, `%ntid` and `%tid` for each dimension; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn grid<const N: usize>() -> ThreadIndex<N> {
    const { assert!(1 <= N && N <= 3, "a grid has 1, 2 or 3 dimensions") };
    let mut position = [index_1d(); N];
    if N >= 2 {
        position[1] = index_2d().y;
    }
    if N >= 3 {
        position[2] = index_3d().z;
    }
    ThreadIndex { position, here: PhantomData }
}

/// The index by which an output of `N` dimensions finds the thread's element: the thread's [index](ThreadIndex).
#[diagnostic::on_unimplemented(
    message = "a thread reaches its own element only, by the index `grid::<{N}>()`, and not by a `{Self}`",
    label = "not the index of the thread",
    note = "write `y.get_mut(grid::<{N}>())` or, shorter, `y.own()`",
    note = "elements that any thread may change are a parameter `&[Atomic<T>]`"
)]
pub trait OwnIndex<const N: usize>: sealed::OwnIndex {
    /// The index.
    #[doc(hidden)]
    fn own(self) -> ThreadIndex<N>;
}

mod sealed {
    pub trait OwnIndex {}
}

impl<const N: usize> sealed::OwnIndex for ThreadIndex<N> {}

impl<const N: usize> OwnIndex<N> for ThreadIndex<N> {
    #[inline(always)]
    fn own(self) -> Self {
        self
    }
}

impl<const N: usize> ThreadIndex<N> {
    /// The position along x: of a matrix, the column.
    #[inline(always)]
    #[must_use]
    pub fn x(self) -> usize {
        self.position[0] as usize
    }

    /// The position, x first, in 32 bits.
    #[inline(always)]
    #[must_use]
    pub fn to_array(self) -> [u32; N] {
        self.position
    }
}

impl ThreadIndex<1> {
    /// The index as a number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.x()
    }
}

impl ThreadIndex<2> {
    /// The position along y: of a matrix, the row.
    #[inline(always)]
    #[must_use]
    pub fn y(self) -> usize {
        self.position[1] as usize
    }
}

impl ThreadIndex<3> {
    /// The position along y.
    #[inline(always)]
    #[must_use]
    pub fn y(self) -> usize {
        self.position[1] as usize
    }

    /// The position along z.
    #[inline(always)]
    #[must_use]
    pub fn z(self) -> usize {
        self.position[2] as usize
    }
}

impl From<ThreadIndex<1>> for usize {
    #[inline(always)]
    fn from(index: ThreadIndex<1>) -> Self {
        index.get()
    }
}

impl PartialEq<usize> for ThreadIndex<1> {
    #[inline(always)]
    fn eq(&self, other: &usize) -> bool {
        self.get() == *other
    }
}

impl PartialOrd<usize> for ThreadIndex<1> {
    #[inline(always)]
    fn partial_cmp(&self, other: &usize) -> Option<Ordering> {
        self.get().partial_cmp(other)
    }
}

impl<T> Index<ThreadIndex<1>> for [T] {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: ThreadIndex<1>) -> &T {
        &self[index.get()]
    }
}

/// Threads of the whole grid along each of `N` dimensions, x first: Numba's `gridsize(n)`.
///
/// `mul.lo.s32` of `%nctaid` and `%ntid` for each dimension; PTX 2.0.
#[inline(always)]
#[must_use]
pub fn gridsize<const N: usize>() -> [usize; N] {
    const { assert!(1 <= N && N <= 3, "a grid has 1, 2 or 3 dimensions") };
    let mut size = [position(grid_dim_x(), block_dim_x(), 0) as usize; N];
    if N >= 2 {
        size[1] = position(grid_dim_y(), block_dim_y(), 0) as usize;
    }
    if N >= 3 {
        size[2] = position(grid_dim_z(), block_dim_z(), 0) as usize;
    }
    size
}

/// The indices below `end` that are this thread's when a 1-D grid of any size shares them out:
/// its own index, then one grid further each time. Together the threads visit each index once, if `end` is at most
/// 2⁶⁴ - 2³¹: lengths of slices are. Behind that they start over.
///
/// ```
/// # use cuda_std::prelude::*;
/// # fn kernel(x: &[f32]) {
/// let mut sum = 0.0;
/// for i in grid_stride(x.len()) {
///     sum += x[i];
/// }
/// # }
/// ```
#[inline(always)]
#[must_use]
pub fn grid_stride(end: usize) -> GridStride {
    GridStride { next: grid::<1>().get(), step: gridsize::<1>()[0], end }
}

/// See [`grid_stride`].
#[derive(Clone, Debug)]
pub struct GridStride {
    next: usize,
    step: usize,
    end: usize,
}

impl Iterator for GridStride {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let index = self.next;
        if index >= self.end {
            return None;
        }
        // Past the end at most by a step, which is below 2³¹: no overflow, unless the end is nearer to 2⁶⁴ than that.
        self.next = index.wrapping_add(self.step);
        Some(index)
    }
}
