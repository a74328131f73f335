//! Products by warps, which multiply fragments of the tiles: see [`mma`](crate::mma).

use core::marker::PhantomData;

use bytemuck::Zeroable;

use super::source::Form;
use super::stages::sealed::{Ahead, TiledMma, Tiles};
use crate::collective::mma::{FragmentA, FragmentB, FragmentC, Multiply, Tf32, unrolled};
use crate::number::half::{bf16, f16};

/// Products by warps of elements `T`, `ROWS` by `COLUMNS` elements for a block: see the [module](super).
#[derive(Debug)]
pub struct ByWarps<T, const ROWS: usize = 128, const COLUMNS: usize = 128>(PhantomData<T>);

/// Tiles of so many lines of elements `T`, for blocks of so many threads.
#[derive(Debug)]
pub struct Lines<T, const LINES: usize, const THREADS: usize>(PhantomData<T>);

macro_rules! forms {
    ($($ty:ty: $element:ty, $depth:literal, $line:expr, $term:expr;)*) => {$(
        impl<const LINES: usize, const THREADS: usize> Form for Lines<$ty, LINES, THREADS> {
            type Element = $element;
            const THREADS: usize = THREADS;
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

/// Row and column at which the part of a thread's warp starts, of `rows` by `columns`, in a tile of the left operand's lines.
#[inline(always)]
fn start<L: Form>(thread: usize, rows: usize, columns: usize) -> [usize; 2] {
    let (warp, down) = (thread % L::THREADS / 32, L::LINES / rows);
    [warp % down * rows, warp / down * columns]
}

/// Loads of fragments from a tile: the fragment at a line and a term.
pub trait Load: Multiply {
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
    if in_lines { line * F::LINE + term } else { term * F::TERM + line }
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

/// The data that a warp has read: the fragments of its rows and of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Read<T: Multiply, const DOWN: usize, const ACROSS: usize> {
    a: [FragmentA<T>; DOWN],
    b: [FragmentB<T>; ACROSS],
}

// SAFETY: numbers, which may be zero.
unsafe impl<T: Multiply, const DOWN: usize, const ACROSS: usize> Zeroable for Read<T, DOWN, ACROSS> {}

impl<T: Load, const DOWN: usize, const ACROSS: usize> Read<T, DOWN, ACROSS> {
    /// Multiplies `INNER` terms of the parts of tiles that belong to the calling thread's warp.
    ///
    /// # Safety
    /// The tiles are complete in shared memory, and have the terms.
    #[inline(always)]
    unsafe fn new<L: Form<Element = T::Stored>, R: Form<Element = T::Stored>, const LEFT: bool, const RIGHT: bool>(
        thread: usize,
        [left, right]: [*const T::Stored; 2],
        term: usize,
    ) -> Self {
        let [row, column] = start::<L>(thread, DOWN * T::ROWS, ACROSS * T::COLUMNS);
        let mut read = Self::zeroed();
        // SAFETY: in the tiles; the caller's.
        unrolled::<DOWN>(|i| read.a[i] = unsafe { T::left::<L>(left, row + i * T::ROWS, term, LEFT) });
        // SAFETY: the same.
        unrolled::<ACROSS>(|j| read.b[j] = unsafe { T::right::<R>(right, column + j * T::COLUMNS, term, RIGHT) });
        read
    }

    /// Adds the products of what was read, and reads the next fragments before.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[inline(always)]
    unsafe fn at_once<
        L: Form<Element = T::Stored>,
        R: Form<Element = T::Stored>,
        const LEFT: bool,
        const RIGHT: bool,
    >(
        &mut self,
        thread: usize,
        tiles: [*const T::Stored; 2],
        term: usize,
        sums: &mut [[FragmentC<T>; ACROSS]; DOWN],
    ) {
        // SAFETY: the caller's.
        let next = unsafe { Self::new::<L, R, LEFT, RIGHT>(thread, tiles, term) };
        self.add(sums);
        *self = next;
    }

    /// Multiplies column by column: the next fragment of a column reuses the registers of the last fragment.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[inline(always)]
    unsafe fn by_columns<
        L: Form<Element = T::Stored>,
        R: Form<Element = T::Stored>,
        const LEFT: bool,
        const RIGHT: bool,
    >(
        &mut self,
        thread: usize,
        [left, right]: [*const T::Stored; 2],
        term: usize,
        sums: &mut [[FragmentC<T>; ACROSS]; DOWN],
    ) {
        let [row, column] = start::<L>(thread, DOWN * T::ROWS, ACROSS * T::COLUMNS);
        let mut next = Self::zeroed();
        unrolled::<ACROSS>(|j| {
            unrolled::<DOWN>(|i| {
                if j == 0 {
                    // SAFETY: in the tiles; the caller's.
                    next.a[i] = unsafe { T::left::<L>(left, row + i * T::ROWS, term, LEFT) };
                }
                let i = if j % 2 == 0 { i } else { DOWN - 1 - i };
                sums[i][j].multiply_add(&self.a[i], &self.b[j]);
            });
            // SAFETY: the same.
            self.b[j] = unsafe { T::right::<R>(right, column + j * T::COLUMNS, term, RIGHT) };
        });
        self.a = next.a;
    }

    /// Adds the products of all fragments, there and back.
    #[inline(always)]
    fn add(&self, sums: &mut [[FragmentC<T>; ACROSS]; DOWN]) {
        unrolled::<DOWN>(|i| {
            unrolled::<ACROSS>(|j| {
                let j = if i % 2 == 0 { j } else { ACROSS - 1 - j };
                sums[i][j].multiply_add(&self.a[i], &self.b[j]);
            });
        });
    }
}

/// Tables of `down` by `across` fragments for each warp, and how they are multiplied and read.
macro_rules! tilings {
    ($($ty:ty: $element:ty, $rows:literal by $columns:literal, $threads:literal threads, $stages:literal stages,
       $down:literal by $across:literal $order:ident;)*) => {$(
        // SAFETY: warps have different parts of the tile, and lanes different elements of fragments.
        unsafe impl TiledMma for ByWarps<$ty, $rows, $columns> {
            type Element = $element;
            type Sum = <$ty as Multiply>::Sum;
            type Left = Lines<$ty, $rows, $threads>;
            type Right = Lines<$ty, $columns, $threads>;
            type Memory = [[$element; <Self::Left as Form>::LENGTH + <Self::Right as Form>::LENGTH]; $stages];
            type Sums = [[FragmentC<$ty>; $across]; $down];
            type Read = Read<$ty, $down, $across>;
            const STAGES: u32 = $stages;
            const SIDE_BY_SIDE: usize = 2;

            #[inline(always)]
            unsafe fn multiply<const LEFT: bool, const RIGHT: bool>(
                thread: usize,
                sums: &mut Self::Sums,
                read: &mut Self::Read,
                tiles: Tiles<Self>,
                ahead: &mut impl Ahead,
            ) {
                const { assert!(<Self::Left as Form>::DEPTH >= 2 * <$ty as Multiply>::INNER, "a part for each operand's copies") };
                unrolled::<{ <Self::Left as Form>::DEPTH / <$ty as Multiply>::INNER }>(|step| {
                    let term = step * <$ty as Multiply>::INNER;
                    // SAFETY: the caller's.
                    unsafe { read.$order::<Self::Left, Self::Right, LEFT, RIGHT>(thread, tiles, term, sums) };
                    if step < 2 {
                        // SAFETY: once for each operand.
                        unsafe { ahead.copy(step) };
                    }
                });
            }

            #[inline(always)]
            fn multiply_rest(sums: &mut Self::Sums, read: &Self::Read) {
                read.add(sums);
            }

            #[inline(always)]
            fn each(thread: usize, sums: &Self::Sums, mut work: impl FnMut([usize; 2], &[Self::Sum])) {
                let [row, column] =
                    start::<Self::Left>(thread, $down * <$ty as Multiply>::ROWS, $across * <$ty as Multiply>::COLUMNS);
                unrolled::<$down>(|i| unrolled::<$across>(|j| {
                    let (row, column) = (row + i * <$ty as Multiply>::ROWS, column + j * <$ty as Multiply>::COLUMNS);
                    sums[i][j].each_pair(|i, j, pair| work([row + i, column + j], pair));
                }));
            }
        }
    )*};
}

tilings! {
    f64: f64, 64 by 128, 128 threads, 3 stages, 2 by 8 by_columns;
    f64: f64, 64 by 64, 128 threads, 3 stages, 2 by 4 at_once;
    Tf32: f32, 128 by 128, 256 threads, 4 stages, 4 by 4 at_once;
    f16: f16, 128 by 128, 256 threads, 4 stages, 4 by 4 at_once;
    bf16: bf16, 128 by 128, 256 threads, 4 stages, 4 by 4 at_once;
    i8: i8, 128 by 128, 256 threads, 4 stages, 4 by 4 at_once;
}
