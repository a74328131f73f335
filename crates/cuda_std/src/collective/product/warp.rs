//! Products by warps, which multiply fragments of the tiles: see [`mma`](crate::mma).

use core::marker::PhantomData;

use super::source::Form;
use super::stages::divide;
use super::stages::sealed::{Tiles, Way};
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

/// What a warp reads ahead: the fragments of its rows, and that of its first columns.
#[derive(Clone, Copy, Debug)]
pub struct Ahead<T: Multiply, const DOWN: usize> {
    a: [FragmentA<T>; DOWN],
    b: FragmentB<T>,
}

/// The parts of tiles that the calling thread's warp multiplies, in tables of `DOWN` by `ACROSS` fragments.
struct Part<L, R, const DOWN: usize, const ACROSS: usize, const LEFT: bool, const RIGHT: bool>(PhantomData<(L, R)>);

impl<L, R, const DOWN: usize, const ACROSS: usize, const LEFT: bool, const RIGHT: bool>
    Part<L, R, DOWN, ACROSS, LEFT, RIGHT>
where
    L: Form,
    R: Form<Element = L::Element>,
{
    /// # Safety
    /// The tile is there, and has the term.
    #[inline(always)]
    unsafe fn a<T: Load<Stored = L::Element>>(tile: *const L::Element, i: usize, term: usize) -> FragmentA<T> {
        let [row, _] = start(DOWN * T::ROWS, ACROSS * T::COLUMNS);
        // SAFETY: in the tile; the caller's.
        unsafe { T::left::<L>(tile, row + i * T::ROWS, term, LEFT) }
    }

    /// # Safety
    /// As for [`a`](Self::a).
    #[inline(always)]
    unsafe fn b<T: Load<Stored = L::Element>>(tile: *const L::Element, j: usize, term: usize) -> FragmentB<T> {
        let [_, column] = start(DOWN * T::ROWS, ACROSS * T::COLUMNS);
        // SAFETY: as above.
        unsafe { T::right::<R>(tile, column + j * T::COLUMNS, term, RIGHT) }
    }

    /// # Safety
    /// The tiles are there.
    #[inline(always)]
    unsafe fn ahead<T: Load<Stored = L::Element>>([left, right]: [*const L::Element; 2]) -> Ahead<T, DOWN> {
        let mut a = [FragmentA::<T>::load(|_, _| bytemuck::Zeroable::zeroed()); DOWN];
        // SAFETY: the caller's.
        unrolled::<DOWN>(|i| a[i] = unsafe { Self::a(left, i, 0) });
        // SAFETY: the caller's.
        let b = unsafe { Self::b(right, 0, 0) };
        Ahead { a, b }
    }

    /// Adds the product of two tiles: each fragment is read while the one before is multiplied.
    ///
    /// # Safety
    /// As for [`ahead`](Self::ahead), of both.
    #[inline(always)]
    unsafe fn multiply<T: Load<Stored = L::Element>>(
        sums: &mut [[FragmentC<T>; ACROSS]; DOWN],
        ahead: &mut Ahead<T, DOWN>,
        [tiles, next]: [[*const L::Element; 2]; 2],
        mut fetch: impl FnMut(),
    ) {
        let never = intrinsics::opaque(0) != 0;
        let mut term = 0;
        while term < L::DEPTH {
            let a = ahead.a;
            let (after, then) = if term + T::INNER < L::DEPTH {
                (tiles, term + T::INNER)
            } else {
                (next, 0)
            };
            unrolled::<ACROSS>(|j| {
                let b = ahead.b;
                // SAFETY: the caller's.
                ahead.b = unsafe {
                    if j + 1 < ACROSS {
                        Self::b(tiles[1], j + 1, term)
                    } else {
                        Self::b(after[1], 0, then)
                    }
                };
                // The next rows in the last steps, one in each.
                if j + DOWN >= ACROSS {
                    let i = j + DOWN - ACROSS;
                    // SAFETY: the caller's.
                    ahead.a[i] = unsafe { Self::a(after[0], i, then) };
                }
                unrolled::<DOWN>(|i| sums[i][j].multiply_add(&a[i], &b));
                if j == 0 && term == 0 {
                    fetch();
                }
                divide(never);
            });
            term += T::INNER;
        }
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
            type Ahead = Ahead<$ty, $down>;
            const STAGES: u32 = $stages;

            #[inline(always)]
            unsafe fn ahead<const LEFT: bool, const RIGHT: bool>(tiles: Tiles<Self>) -> Self::Ahead {
                // SAFETY: the caller's.
                unsafe { Part::<Self::Left, Self::Right, $down, $across, LEFT, RIGHT>::ahead(tiles) }
            }

            #[inline(always)]
            unsafe fn multiply<const LEFT: bool, const RIGHT: bool>(
                sums: &mut Self::Sums,
                ahead: &mut Self::Ahead,
                tiles: [Tiles<Self>; 2],
                fetch: impl FnMut(),
            ) {
                // SAFETY: the caller's.
                unsafe {
                    Part::<Self::Left, Self::Right, $down, $across, LEFT, RIGHT>::multiply(sums, ahead, tiles, fetch);
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
    f64: f64, 64 columns, 4 stages, 2 by 4;
    Tf32: f32, 128 columns, 4 stages, 4 by 4;
    f16: f16, 128 columns, 4 stages, 4 by 4;
    bf16: bf16, 128 columns, 4 stages, 4 by 4;
    i8: i8, 128 columns, 4 stages, 4 by 4;
}
