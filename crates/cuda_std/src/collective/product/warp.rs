//! Products by warps, which multiply fragments of the tiles: see [`mma`](crate::mma).

use core::marker::PhantomData;

use super::source::Form;
use super::stages::sealed::Way;
use crate::collective::mma::{FragmentA, FragmentB, FragmentC, Multiply, Tf32, unrolled};
use crate::device::intrinsics;
use crate::device::thread::index_in_block;
use crate::number::half::{bf16, f16};

/// Products by warps of elements `T`, 128 by `COLUMNS` elements for a block of 256 threads: see the [module](super).
#[derive(Debug)]
pub struct ByWarps<T, const COLUMNS: usize = 128>(PhantomData<T>);

/// Tiles of so many lines of elements `T`.
#[derive(Debug)]
pub struct Lines<T, const LINES: usize = 128>(PhantomData<T>);

macro_rules! forms {
    ($($ty:ty: $element:ty, $depth:literal, $line:expr, $term:expr;)*) => {$(
        impl<const LINES: usize> Form for Lines<$ty, LINES> {
            type Element = $element;
            const LINES: usize = LINES;
            const DEPTH: usize = $depth;
            const LINE: usize = $line;
            const TERM: usize = $term;
        }
    )*};
}

// The padding lets a warp that reads a fragment meet all memory banks.
forms! {
    f64: f64, 16, 16 + 4, LINES + 4;
    Tf32: f32, 16, 16 + 4, LINES + 8;
    f16: f16, 32, 32 + 8, 0;
    bf16: bf16, 32, 32 + 8, 0;
    i8: i8, 64, 64 + 16, 0;
}

/// Row and column at which the part of the calling thread's warp starts, of `rows` by `columns`, in a tile of 128 rows.
#[inline(always)]
fn start(rows: usize, columns: usize) -> [usize; 2] {
    let (warp, down) = (index_in_block() as usize / 32 % 8, 128 / rows);
    [warp % down * rows, warp / down * columns]
}

/// Loads of fragments from a tile: the fragment at a line and a term.
trait Load: Multiply {
    /// Elements of tiles.
    type Stored: Copy;

    /// # Safety
    /// The fragment is in the tile, which is in shared memory and not written.
    unsafe fn left<F: Form<Element = Self::Stored>>(
        tile: *const Self::Stored,
        line: usize,
        term: usize,
        in_lines: bool,
    ) -> FragmentA<Self>;

    /// # Safety
    /// As for [`left`](Self::left).
    unsafe fn right<F: Form<Element = Self::Stored>>(
        tile: *const Self::Stored,
        line: usize,
        term: usize,
        in_lines: bool,
    ) -> FragmentB<Self>;
}

/// Fragments of which each lane loads its elements one by one.
macro_rules! element_by_element {
    ($($ty:ty: $stored:ty, |$element:ident| $value:expr;)*) => {$(
        impl Load for $ty {
            type Stored = $stored;

            #[inline(always)]
            unsafe fn left<F: Form<Element = $stored>>(tile: *const $stored, line: usize, term: usize, in_lines: bool) -> FragmentA<$ty> {
                FragmentA::load(|i, j| {
                    // SAFETY: the caller's.
                    let $element = unsafe { *tile.add(place::<F>(line + i, term + j, in_lines)) };
                    $value
                })
            }

            #[inline(always)]
            unsafe fn right<F: Form<Element = $stored>>(tile: *const $stored, line: usize, term: usize, in_lines: bool) -> FragmentB<$ty> {
                FragmentB::load(|i, j| {
                    // SAFETY: the caller's.
                    let $element = unsafe { *tile.add(place::<F>(line + j, term + i, in_lines)) };
                    $value
                })
            }
        }
    )*};
}

element_by_element! {
    f64: f64, |element| element;
    Tf32: f32, |element| Tf32::from_f32(element);
}

/// Where an element is in a tile.
#[inline(always)]
fn place<F: Form>(line: usize, term: usize, in_lines: bool) -> usize {
    if in_lines {
        line * F::LINE + term
    } else {
        term * F::TERM + line
    }
}

/// Fragments that a warp loads with `ldmatrix`.
macro_rules! in_matrices {
    ($($ty:ty)*) => {$(
        impl Load for $ty {
            type Stored = $ty;

            #[inline(always)]
            unsafe fn left<F: Form<Element = $ty>>(tile: *const $ty, line: usize, term: usize, _: bool) -> FragmentA<$ty> {
                // SAFETY: lines of a multiple of 16 bytes; the caller's.
                unsafe { FragmentA::from_lines(tile.add(line * F::LINE + term), F::LINE) }
            }

            #[inline(always)]
            unsafe fn right<F: Form<Element = $ty>>(tile: *const $ty, line: usize, term: usize, _: bool) -> FragmentB<$ty> {
                // SAFETY: as above.
                unsafe { FragmentB::from_lines(tile.add(line * F::LINE + term), F::LINE) }
            }
        }
    )*};
}

in_matrices!(f16 bf16 i8);

/// Adds the product of two tiles to a table of fragments.
///
/// # Safety
/// As for [`Way::multiply`].
#[inline(always)]
unsafe fn multiply<T, L, R, const DOWN: usize, const ACROSS: usize, const LEFT: bool, const RIGHT: bool>(
    sums: &mut [[FragmentC<T>; ACROSS]; DOWN],
    [left, right]: [*const T::Stored; 2],
) where
    T: Load,
    L: Form<Element = T::Stored>,
    R: Form<Element = T::Stored>,
{
    let [row, column] = start(DOWN * T::ROWS, ACROSS * T::COLUMNS);
    let mut term = 0;
    while term < L::DEPTH {
        let mut a = [FragmentA::<T>::load(|_, _| bytemuck::Zeroable::zeroed()); DOWN];
        // SAFETY: the caller's.
        unrolled::<DOWN>(|i| a[i] = unsafe { T::left::<L>(left, row + i * T::ROWS, term, LEFT) });
        unrolled::<ACROSS>(|j| {
            // SAFETY: as above.
            let b = unsafe { T::right::<R>(right, column + j * T::COLUMNS, term, RIGHT) };
            // As many as there are registers for.
            intrinsics::in_order();
            unrolled::<DOWN>(|i| sums[i][j].multiply_add(&a[i], &b));
        });
        term += T::INNER;
    }
}

/// Tables of `down` by `across` fragments for each warp.
macro_rules! ways {
    ($($ty:ty: $element:ty, $columns:literal columns, $stages:literal stages, $down:literal by $across:literal;)*) => {$(
        // SAFETY: warps have different parts of the tile, and lanes different elements of fragments.
        unsafe impl Way for ByWarps<$ty, $columns> {
            type Element = $element;
            type Sum = <$ty as Multiply>::Sum;
            type Left = Lines<$ty>;
            type Right = Lines<$ty, $columns>;
            type Memory =
                [[$element; <Lines<$ty> as Form>::LENGTH + <Lines<$ty, $columns> as Form>::LENGTH]; $stages];
            type Sums = [[FragmentC<$ty>; $across]; $down];
            const STAGES: u32 = $stages;
            const PARTS: usize = 1;

            #[inline(always)]
            unsafe fn multiply(sums: &mut Self::Sums, tiles: [*const $element; 2], in_lines: [bool; 2], _: usize) {
                // SAFETY: the caller's.
                unsafe {
                    if Self::Left::TERM == 0 {
                        return multiply::<$ty, Self::Left, Self::Right, $down, $across, true, true>(sums, tiles);
                    }
                    match in_lines {
                        [false, false] => multiply::<$ty, Self::Left, Self::Right, $down, $across, false, false>(sums, tiles),
                        [false, true] => multiply::<$ty, Self::Left, Self::Right, $down, $across, false, true>(sums, tiles),
                        [true, false] => multiply::<$ty, Self::Left, Self::Right, $down, $across, true, false>(sums, tiles),
                        [true, true] => multiply::<$ty, Self::Left, Self::Right, $down, $across, true, true>(sums, tiles),
                    }
                }
            }

            #[inline(always)]
            fn each(sums: &Self::Sums, mut work: impl FnMut([usize; 2], Self::Sum)) {
                let [row, column] = start($down * <$ty as Multiply>::ROWS, $across * <$ty as Multiply>::COLUMNS);
                unrolled::<$down>(|i| unrolled::<$across>(|j| {
                    let mut fragment = sums[i][j];
                    let (row, column) = (row + i * <$ty as Multiply>::ROWS, column + j * <$ty as Multiply>::COLUMNS);
                    fragment.each(|i, j, sum| work([row + i, column + j], *sum));
                }));
            }
        }
    )*};
}

ways! {
    f64: f64, 128 columns, 4 stages, 2 by 8;
    f64: f64, 64 columns, 3 stages, 2 by 4;
    Tf32: f32, 128 columns, 3 stages, 4 by 4;
    f16: f16, 128 columns, 3 stages, 4 by 4;
    bf16: bf16, 128 columns, 3 stages, 4 by 4;
    i8: i8, 128 columns, 3 stages, 4 by 4;
}
