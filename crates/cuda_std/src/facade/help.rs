//! Frequent mistakes of CUDA users that no type allows: each mistake is an implementation whose bound no type meets, so
//! that the compiler suggests what to write instead.

use core::ops::{
    Add, AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, Div, Index, IndexMut, Mul, Rem, Sub, SubAssign,
};

use crate::abi::parameter::Element;
use crate::array::output::{Disjoint, Layout};
use crate::device::thread::ThreadIndex;
use crate::mem::atomic::Atomic;
use crate::mem::shared::{OneTile, Shared};

/// An index of an output.
#[diagnostic::on_unimplemented(
    message = "an output cannot be indexed: a thread reaches its own elements only",
    label = "not by an index",
    note = "`if let Some(y) = y.own() {{ *y += 1.0; }}`: the thread's own element, where it has one; `y.get_mut(i)` is the same for \
            `let i = grid::<1>();` (`grid::<2>()` and `grid::<3>()` in matrices and volumes)",
    note = "where a thread has several, `y.each(|i, y| *y += 1.0)` goes through them (`each_row` in rows), and `y.store(..)` writes them",
    note = "elements that any thread may change are a parameter `&[Atomic<T>]`"
)]
pub trait ByIndex {
    /// Never called: no type implements this trait.
    fn never(&self) -> !;
}

/// An index of shared memory in the phase of own elements.
#[diagnostic::on_unimplemented(
    message = "shared memory is indexed behind a barrier, and this is before it",
    label = "the block has not met yet",
    note = "`let tile = tile.sync();` waits for the block and gives all elements to all threads: then `tile[i]` reads them",
    note = "until then a thread has its own elements, to write and read: `*tile.own() = x;`, or `tile.part()` for several"
)]
pub trait AfterSync {
    /// Never called: no type implements this trait.
    fn never(&self) -> !;
}

/// Arithmetic with the index of a thread.
#[diagnostic::on_unimplemented(
    message = "the index of a thread is not computed with",
    label = "this would be the number of another thread",
    note = "its number is: `i.get()`, or `i.x()`, `i.y()` and `i.z()`, as in `x[i.get() - 1]`"
)]
pub trait Arithmetic {
    /// Never called: no type implements this trait.
    fn never(&self) -> !;
}

/// A change of an atomic number by an operator.
#[diagnostic::on_unimplemented(
    message = "an atomic number is not changed by an operator",
    label = "other threads change the number meanwhile",
    note = "`x += 1` is `x.fetch_add(1)`, as in `counts[i].fetch_add(1)`; `-=`, `&=`, `|=` and `^=` are `fetch_sub`, `fetch_and`, `fetch_or` \
            and `fetch_xor`",
    note = "`x.load()` reads the number, and `x.store(1)` writes it"
)]
pub trait ByOperator {
    /// Never called: no type implements this trait.
    fn never(&self) -> !;
}

impl<T: Element, L: Layout, I: ByIndex> Index<I> for Disjoint<'_, T, L> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

impl<T: Element, L: Layout, I: ByIndex> IndexMut<I> for Disjoint<'_, T, L> {
    fn index_mut(&mut self, index: I) -> &mut T {
        index.never()
    }
}

impl<L: OneTile, I: AfterSync> Index<I> for Shared<'_, L> {
    type Output = L::Indexed;

    fn index(&self, index: I) -> &L::Indexed {
        index.never()
    }
}

impl<L: OneTile, I: AfterSync> IndexMut<I> for Shared<'_, L> {
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

macro_rules! not_changed_by {
    ($($operator:ident::$method:ident)*) => {$(
        impl<T, R: ByOperator> $operator<R> for Atomic<T> {
            fn $method(&mut self, other: R) {
                other.never()
            }
        }
    )*};
}

not_changed_by!(
    AddAssign::add_assign SubAssign::sub_assign BitAndAssign::bitand_assign BitOrAssign::bitor_assign
    BitXorAssign::bitxor_assign
);
