//! What users of CUDA write first and no type allows: each is an implementation whose bound no type meets, so that the
//! compiler says what to write instead.

use core::ops::{Add, Div, Index, IndexMut, Mul, Rem, Sub};

use crate::parameter::Element;
use crate::shared::{OneTile, Shared};
use crate::thread::ThreadIndex;
use crate::{
    DisjointChunks, DisjointColumns, DisjointRounds, DisjointRows, DisjointSlice, DisjointSlice2, DisjointSlice3,
    DisjointTiles, DisjointView, PerBlock,
};

/// An index of an output of which a thread has one element.
#[diagnostic::on_unimplemented(
    message = "`{Output}` cannot be indexed: a thread reaches its own element only",
    label = "not by an index",
    note = "`if let Some(y) = y.own() {{ *y += 1.0; }}`: the thread's own element, where it has one",
    note = "`y.get_mut(i)` is the same element, for `let i = grid::<1>();` (`grid::<2>()` and `grid::<3>()` in matrices and volumes)",
    note = "elements that any thread may change are a parameter `&[Atomic<T>]`"
)]
pub trait ByIndex<Output> {
    /// No type has it, so it is not called.
    fn never(&self) -> !;
}

/// An index of an output of which a thread has several elements.
#[diagnostic::on_unimplemented(
    message = "`{Output}` cannot be indexed: a thread reaches its own elements only",
    label = "not by an index",
    note = "its methods go through the thread's elements: `each` of tiles, chunks and views, `store` of rounds, `each_row` of rows, `own` \
            of columns",
    note = "elements that any thread may change are a parameter `&[Atomic<T>]`"
)]
pub trait ByIndices<Output> {
    /// No type has it, so it is not called.
    fn never(&self) -> !;
}

/// An index of shared memory in the phase of own elements.
#[diagnostic::on_unimplemented(
    message = "shared memory is indexed behind a barrier, and this is before it",
    label = "the block has not met yet",
    note = "`let tile = tile.sync();` waits for the block and gives all elements to all threads: then `tile[i]` reads them",
    note = "until then a thread has its own elements, to write and read: `*tile.own() = x;`, or `tile.part()` for several"
)]
pub trait AfterSync<Tile> {
    /// No type has it, so it is not called.
    fn never(&self) -> !;
}

/// What an index of a thread is computed with.
#[diagnostic::on_unimplemented(
    message = "the index of a thread is not computed with",
    label = "this would be the number of another thread",
    note = "its number is: `i.get()`, or `i.x()`, `i.y()` and `i.z()`, as in `x[i.get() - 1]`"
)]
pub trait Arithmetic {
    /// No type has it, so it is not called.
    fn never(&self) -> !;
}

macro_rules! not_indexed {
    ($($bound:ident: $output:ty, [$($generic:tt)*];)*) => {$(
        impl<T: Element, I: $bound<Self>, $($generic)*> Index<I> for $output {
            type Output = T;

            fn index(&self, index: I) -> &T {
                index.never()
            }
        }

        impl<T: Element, I: $bound<Self>, $($generic)*> IndexMut<I> for $output {
            fn index_mut(&mut self, index: I) -> &mut T {
                index.never()
            }
        }
    )*};
}

not_indexed! {
    ByIndex: DisjointSlice<T>, [];
    ByIndex: DisjointSlice2<T>, [];
    ByIndex: DisjointSlice3<T>, [];
    ByIndex: PerBlock<T>, [];
    ByIndices: DisjointChunks<T, N>, [const N: usize];
    ByIndices: DisjointRounds<T, N, V, RUN>, [const N: usize, const V: usize, const RUN: usize];
    ByIndices: DisjointTiles<T, ROWS, COLUMNS, O>, [const ROWS: usize, const COLUMNS: usize, O];
    ByIndices: DisjointRows<T, G>, [G];
    ByIndices: DisjointColumns<T, LAYERS>, [const LAYERS: usize];
    ByIndices: DisjointView<T, N>, [const N: usize];
}

impl<L: OneTile, I: AfterSync<Self>> Index<I> for Shared<L> {
    type Output = L::Indexed;

    fn index(&self, index: I) -> &L::Indexed {
        index.never()
    }
}

impl<L: OneTile, I: AfterSync<Self>> IndexMut<I> for Shared<L> {
    fn index_mut(&mut self, index: I) -> &mut L::Indexed {
        index.never()
    }
}

macro_rules! not_computed_with {
    ($($operator:ident::$method:ident)*) => {$(
        impl<const N: usize, R: Arithmetic> $operator<R> for ThreadIndex<N> {
            type Output = usize;

            fn $method(self, other: R) -> usize {
                other.never()
            }
        }
    )*};
}

not_computed_with!(Add::add Sub::sub Mul::mul Div::div Rem::rem);
