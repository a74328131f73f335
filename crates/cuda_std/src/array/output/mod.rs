//! Outputs of a kernel: memory that many threads write, each its own elements.
//!
//! `&mut [T]` cannot be passed to a kernel, since every thread would get the same one. A [`Disjoint`] can: from it a
//! thread reaches the elements that belong to it, and no others. Which those are is the layout's business, the second type
//! in the brackets; [`DisjointSlice<T>`](DisjointSlice) is the one for an element per thread, with which most kernels do.
//!
//! | layout | elements of the thread at (x, y, z) | the host passes |
//! |---|---|---|
//! | [`PerThread`]`<1>` | x | a slice |
//! | [`PerThread`]`<2>` | row y, column x | a slice with its shape |
//! | [`PerThread`]`<3>` | layer z, row y, column x | a slice with its shape |
//! | [`Striped<N>`](Striped) | `N`, a block's width apart, the same work for each | a slice |
//! | [`Rounds<[VectorOf<V>; N]>`](Rounds) | `N` vectors of `V` elements in each round of a grid that stays | a slice |
//! | [`Tiles<ROWS, COLUMNS>`](Tiles) | several of the tile of its block | a slice with its shape |
//! | [`Rows`], [`Rows<ByWarp>`](Rows) | several of the row of its block or warp | a slice with its shape |
//! | [`Layers`], [`Layers<N>`](Layers) | at row y, column x, those of all layers, or of `N` from `N * z` on | a slice with its shape |
//! | [`Array<N>`](Array) | index (.., z, y, x), and those a grid further | an array or a view of `N` dimensions |
//! | [`PerBlock`] | of the block's first thread, the block's number | a slice |
//! | [`Fragments<ROWS, COLUMNS>`](crate::mma::Fragments) | those of the matrix fragments of its warp | a slice with its shape |
//! | [`FragmentRows<COLUMNS>`](crate::mma::FragmentRows) | those of the rows of fragments of its warp | an array or a view of four dimensions |
//!
//! The methods have the same names in all of them: [`len`](Disjoint::len) and what the shape has; `own` is the thread's
//! element, or its row or column; `each` goes through the thread's elements with their indices; `indices` says where they
//! are, and `store` writes them, less those beyond the end.
//!
//! Ownership follows from the thread's position in the grid, so the launch must have no more dimensions than the
//! output; the launcher checks this. No layout lets a thread see another's element: use slices of
//! [`Atomic`](crate::atomic::Atomic)s, and [`Shared`](crate::shared::Shared) memory.

mod array;
mod layers;
mod per_block;
mod per_thread;
mod rounds;
mod rows;
mod striped;
mod tiles;

pub use array::Array;
pub use layers::{Column, Layers};
pub use per_block::PerBlock;
pub use per_thread::{GridStrideMut, PerThread};
pub(crate) use rounds::Words;
pub use rounds::{Rounds, Run, VectorOf};
pub use rows::{ByBlock, ByWarp, Row, Rows, RowsMut};
pub use striped::{Inputs, Striped};
pub(crate) use tiles::MOST;
pub use tiles::{ByRows, TilePlace, Tiles, Transposed};

use core::fmt::Debug;
use core::marker::PhantomData;

use crate::abi::parameter::{Element, KernelParameter, Role, start_of};
use crate::array::strided::Dimensions;

/// An output of which each thread has elements of its own: which ones, its [`Layout`] says. See the [module](self).
///
/// The output lives as long as the launch, `'l`, which a kernel's parameters omit: `mut y: Disjoint<f32, Striped<4>>`.
#[derive(Debug)]
pub struct Disjoint<'l, T, L: Layout> {
    pub(crate) start: *mut T,
    pub(crate) shape: L::Shape,
    launch: PhantomData<&'l ()>,
}

/// An output with one element for each thread of a 1-D launch, or one for each step of a grid-stride loop.
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
pub type DisjointSlice<'l, T> = Disjoint<'l, T, PerThread<1>>;

/// The assignment of an output's elements to threads: a type that stands for the pattern, and has no values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no layout of an output",
    label = "not a layout",
    note = "write `Disjoint<T, PerThread<2>>`, or another layout of `cuda_std::output`"
)]
pub trait Layout: sealed::Layout {
    /// The lengths that a kernel is passed: of a slice, a matrix, a volume or an array.
    type Shape: Shape;
    /// How many dimensions a launch may have, and how many elements a thread has.
    const ROLE: Role;
    /// The elements that a thread or a block reaches.
    const REACH: Reach;
}

/// The elements of an output that a thread or a block owns in a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// A share of all elements, whatever the grid.
    All,
    /// One element for each thread; in a kernel that strides by the size of the grid, a share of all.
    OneOrStrided,
    /// So many columns, rows and layers for each thread along x, y and z.
    Thread([usize; 3]),
    /// So many columns and rows for each block along x and y.
    Tile([usize; 2]),
    /// Tiles with the blocks along y and x.
    TransposedTile([usize; 2]),
    /// One element for each block.
    Block,
}

mod sealed {
    /// Methods for this crate alone.
    pub trait Layout {}

    /// The lengths of an output, and the PTX parameters behind its address that they are.
    pub trait Shape: Copy {
        type B;
        type C;
        type D;
        type Lengths;

        fn assemble(b: Self::B, c: Self::C, d: Self::D) -> Self;

        /// How long each axis is, the last being that along x.
        fn lengths(&self) -> Self::Lengths;

        /// How many elements there are.
        fn len(&self) -> usize;
    }

    /// A shape whose last axes are rows and columns.
    pub trait OfRows: Shape {
        fn rows(&self) -> usize;
        fn columns(&self) -> usize;
    }
}
pub(crate) use sealed::Layout as Sealed;

/// The lengths of an output: of a slice a number, of a matrix or a volume an array, of an array with strides [`Dimensions`].
pub trait Shape: sealed::Shape + Debug {}

impl<S: sealed::Shape + Debug> Shape for S {}

/// A slice: its length.
impl sealed::Shape for usize {
    type B = usize;
    type C = ();
    type D = ();
    type Lengths = [usize; 1];

    #[inline(always)]
    fn assemble(length: usize, (): (), (): ()) -> Self {
        length
    }

    #[inline(always)]
    fn lengths(&self) -> [usize; 1] {
        [*self]
    }

    #[inline(always)]
    fn len(&self) -> usize {
        *self
    }
}

/// A matrix: rows and columns. The launcher checks that their product is the number of elements.
impl sealed::Shape for [u32; 2] {
    type B = u32;
    type C = u32;
    type D = ();
    type Lengths = [usize; 2];

    #[inline(always)]
    fn assemble(rows: u32, columns: u32, (): ()) -> Self {
        [rows, columns]
    }

    #[inline(always)]
    fn lengths(&self) -> [usize; 2] {
        self.map(|length| length as usize)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows().wrapping_mul(self.columns())
    }
}

/// A volume: layers, rows and columns, as for a matrix.
impl sealed::Shape for [u32; 3] {
    type B = u32;
    type C = u32;
    type D = u32;
    type Lengths = [usize; 3];

    #[inline(always)]
    fn assemble(layers: u32, rows: u32, columns: u32) -> Self {
        [layers, rows, columns]
    }

    #[inline(always)]
    fn lengths(&self) -> [usize; 3] {
        self.map(|length| length as usize)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        (self[0] as usize).wrapping_mul(self.rows()).wrapping_mul(self.columns())
    }
}

/// An array with strides.
impl<const N: usize> sealed::Shape for Dimensions<N> {
    type B = Self;
    type C = ();
    type D = ();
    type Lengths = [usize; N];

    #[inline(always)]
    fn assemble(dimensions: Self, (): (), (): ()) -> Self {
        dimensions
    }

    #[inline(always)]
    fn lengths(&self) -> [usize; N] {
        self.shape()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.shape().into_iter().fold(1, usize::saturating_mul)
    }
}
use sealed::{OfRows, Shape as _};

impl OfRows for [u32; 2] {
    #[inline(always)]
    fn rows(&self) -> usize {
        self[0] as usize
    }

    #[inline(always)]
    fn columns(&self) -> usize {
        self[1] as usize
    }
}

impl OfRows for [u32; 3] {
    #[inline(always)]
    fn rows(&self) -> usize {
        self[1] as usize
    }

    #[inline(always)]
    fn columns(&self) -> usize {
        self[2] as usize
    }
}

/// Methods of all layouts.
impl<T: Element, L: Layout> Disjoint<'_, T, L> {
    /// How long each axis is, the last being that along x: `[rows, columns]` of a matrix.
    #[inline(always)]
    #[must_use]
    pub fn shape(&self) -> <L::Shape as sealed::Shape>::Lengths {
        self.shape.lengths()
    }

    /// How many elements there are, of all threads together.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.len()
    }

    /// Whether there is no element.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Methods of layouts of matrices and volumes.
impl<T: Element, L: Layout<Shape: OfRows>> Disjoint<'_, T, L> {
    /// Rows of the matrix, or of a layer of the volume.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shape.rows()
    }

    /// Columns of the matrix, or of a layer of the volume.
    #[inline(always)]
    #[must_use]
    pub fn columns(&self) -> usize {
        self.shape.columns()
    }
}

/// Methods of layouts of volumes.
impl<T: Element, L: Layout<Shape = [u32; 3]>> Disjoint<'_, T, L> {
    /// Layers of the volume.
    #[inline(always)]
    #[must_use]
    pub fn layers(&self) -> usize {
        self.shape[0] as usize
    }
}

// SAFETY: pointer and lengths of existing elements, as the launcher has checked. A thread reaches the elements of its
// own position only, in a launch of the layout's rank: each method of a layout argues it.
unsafe impl<T: Element, L: Layout> KernelParameter for Disjoint<'_, T, L> {
    const ROLE: Role = L::ROLE;
    type Element = T;
    // A mutable reference rather than a pointer, which makes the parameter `noalias`.
    type A = &'static mut [T; 0];
    type B = <L::Shape as sealed::Shape>::B;
    type C = <L::Shape as sealed::Shape>::C;
    type D = <L::Shape as sealed::Shape>::D;
    type Value<'l> = Disjoint<'l, T, L>;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, b: Self::B, c: Self::C, d: Self::D) -> Self::Value<'static> {
        Disjoint { start: start_of(start), shape: L::Shape::assemble(b, c, d), launch: PhantomData }
    }
}
