//! Products by warps, which multiply fragments of the tiles: see [`mma`](crate::mma).

use core::marker::PhantomData;

use super::source::Form;
use super::stages::sealed::Way;
use crate::collective::mma::{FragmentA, FragmentB, FragmentC, Multiply, Tf32, unrolled};
use crate::device::thread::index_in_block;
use crate::number::half::{bf16, f16};

/// Products by warps of elements `T`, 128 by 128 elements for a block of 256 threads: see the [module](super).
#[derive(Debug)]
pub struct ByWarps<T>(PhantomData<T>);

/// Rows and columns of a tile of the product.
const LINES: usize = 128;

/// Tiles with the lines of a term one after the other.
#[derive(Debug)]
pub struct Terms<T>(PhantomData<T>);

/// Tiles with the terms of a line one after the other, and a vector of padding behind each line.
#[derive(Debug)]
pub struct InLines<T>(PhantomData<T>);

macro_rules! forms {
    ($($form:ty: $element:ty, $depth:literal, $in_lines:literal, $stride:expr;)*) => {$(
        impl Form for $form {
            type Element = $element;
            const LINES: usize = LINES;
            const DEPTH: usize = $depth;
            const IN_LINES: bool = $in_lines;
            const STRIDE: usize = $stride;
        }
    )*};
}

// The padding lets a warp that reads a fragment meet all memory banks.
forms! {
    Terms<f64>: f64, 16, false, LINES + 4;
    Terms<Tf32>: f32, 16, false, LINES + 8;
    InLines<f16>: f16, 32, true, 32 + 8;
    InLines<bf16>: bf16, 32, true, 32 + 8;
    InLines<i8>: i8, 64, true, 64 + 16;
}

/// Row and column at which the part of the calling thread's warp starts, of `ROWS` by `COLUMNS`.
#[inline(always)]
fn start<const ROWS: usize, const COLUMNS: usize>() -> [usize; 2] {
    const { assert!(ROWS * COLUMNS * 8 == LINES * LINES, "8 warps have a tile") };
    let warp = index_in_block() as usize / 32 % 8;
    [warp / (LINES / COLUMNS) * ROWS, warp % (LINES / COLUMNS) * COLUMNS]
}

/// A way with tables of `down` by `across` fragments; `load` gives one of each operand from a tile, the line and the term at which it
/// starts.
macro_rules! ways {
    ($($ty:ty: $form:ident of $element:ty, $stages:literal stages, $down:literal by $across:literal,
       |$tile:ident, $line:ident, $term:ident| $a:expr, $b:expr;)*) => {$(
        // SAFETY: warps have different parts of the tile, and lanes different elements of fragments.
        unsafe impl Way for ByWarps<$ty> {
            type Element = $element;
            type Sum = <$ty as Multiply>::Sum;
            type Left = $form<$ty>;
            type Right = $form<$ty>;
            type Memory = [[[$element; <$form<$ty> as Form>::LENGTH]; 2]; $stages];
            type Sums = [[FragmentC<$ty>; $across]; $down];
            const STAGES: u32 = $stages;

            #[inline(always)]
            unsafe fn multiply(sums: &mut Self::Sums, left: *const $element, right: *const $element) {
                const DOWN: usize = $down * <$ty as Multiply>::ROWS;
                const ACROSS: usize = $across * <$ty as Multiply>::COLUMNS;
                let [row, column] = start::<DOWN, ACROSS>();
                // SAFETY: in the tiles; the caller's.
                let left = |$line: usize, $term: usize| unsafe { let $tile = left; $a };
                // SAFETY: as above.
                let right = |$line: usize, $term: usize| unsafe { let $tile = right; $b };
                const STEPS: usize = <$form<$ty> as Form>::DEPTH / <$ty as Multiply>::INNER;
                unrolled::<STEPS>(|step| {
                    let term = step * <$ty as Multiply>::INNER;
                    let mut a = [FragmentA::<$ty>::load(|_, _| bytemuck::Zeroable::zeroed()); $down];
                    unrolled::<$down>(|i| a[i] = left(row + i * <$ty as Multiply>::ROWS, term));
                    unrolled::<$across>(|j| {
                        let b = right(column + j * <$ty as Multiply>::COLUMNS, term);
                        unrolled::<$down>(|i| sums[i][j].multiply_add(&a[i], &b));
                    });
                });
            }

            #[inline(always)]
            fn each(sums: &Self::Sums, mut work: impl FnMut([usize; 2], Self::Sum)) {
                const DOWN: usize = $down * <$ty as Multiply>::ROWS;
                const ACROSS: usize = $across * <$ty as Multiply>::COLUMNS;
                let [row, column] = start::<DOWN, ACROSS>();
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
    f64: Terms of f64, 3 stages, 2 by 8, |tile, line, term|
        FragmentA::load(|i, j| *tile.add((term + j) * Terms::<f64>::STRIDE + line + i)),
        FragmentB::load(|i, j| *tile.add((term + i) * Terms::<f64>::STRIDE + line + j));
    Tf32: Terms of f32, 3 stages, 4 by 4, |tile, line, term|
        FragmentA::load(|i, j| Tf32::from_f32(*tile.add((term + j) * Terms::<Tf32>::STRIDE + line + i))),
        FragmentB::load(|i, j| Tf32::from_f32(*tile.add((term + i) * Terms::<Tf32>::STRIDE + line + j)));
    f16: InLines of f16, 3 stages, 4 by 4, |tile, line, term|
        FragmentA::from_lines(tile.add(line * InLines::<f16>::STRIDE + term), InLines::<f16>::STRIDE),
        FragmentB::from_lines(tile.add(line * InLines::<f16>::STRIDE + term), InLines::<f16>::STRIDE);
    bf16: InLines of bf16, 3 stages, 4 by 4, |tile, line, term|
        FragmentA::from_lines(tile.add(line * InLines::<bf16>::STRIDE + term), InLines::<bf16>::STRIDE),
        FragmentB::from_lines(tile.add(line * InLines::<bf16>::STRIDE + term), InLines::<bf16>::STRIDE);
    i8: InLines of i8, 3 stages, 4 by 4, |tile, line, term|
        FragmentA::from_lines(tile.add(line * InLines::<i8>::STRIDE + term), InLines::<i8>::STRIDE),
        FragmentB::from_lines(tile.add(line * InLines::<i8>::STRIDE + term), InLines::<i8>::STRIDE);
}
