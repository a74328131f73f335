//! Products of `f32` by threads: each has 8 by 8 sums in registers.

use super::source::Form;
use super::stages::divide;
use super::stages::sealed::{Tiles, Way};
use crate::collective::mma::unrolled;
use crate::device::intrinsics;
use crate::device::thread::index_in_block;
use crate::number::float::GpuFloat;
use crate::number::vector::Vector4;

/// Products of `f32` by threads, `64 FOURS` by 128 elements for a block of 256: see the [module](super). Each thread has `FOURS` times four rows
/// and twice four columns of sums. With 4 it reads the least from shared memory for each sum; with 2 there is room for two blocks on a
/// multiprocessor, and more blocks for a small product.
#[derive(Debug)]
pub enum ByThreads<const FOURS: usize = 4> {}

/// Tiles of `64 FOURS` lines with the lines of a term one after the other, and some elements of padding, which let threads that write
/// neighbouring terms meet different memory banks.
#[derive(Debug)]
pub enum Lines<const FOURS: usize> {}

const DEPTH: usize = 16;
const PADDING: usize = 4;

impl<const FOURS: usize> Form for Lines<FOURS> {
    type Element = f32;
    const LINES: usize = 64 * FOURS;
    const DEPTH: usize = DEPTH;
    const LINE: usize = 0;
    const TERM: usize = 64 * FOURS + PADDING;
}

/// The first row and column of the calling thread's sums, in fours. A warp has `16 FOURS` rows and 64 columns; which lane has which
/// lets a warp read all memory banks evenly.
#[inline(always)]
fn start<const FOURS: usize>() -> [usize; 2] {
    let (warp, lane) = (index_in_block() as usize / 32 % 8, index_in_block() as usize % 32);
    let (down, across) = (lane & 1 | lane >> 3 & 2, lane >> 1 & 7);
    [warp / 2 * 4 * FOURS + down, warp % 2 * 16 + across]
}

/// From one four of a thread's rows or columns to the next, in fours.
const FURTHER: [usize; 2] = [4, 8];

/// A thread's numbers of a term.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<const FOURS: usize> {
    a: [[f32; 4]; FOURS],
    b: [[f32; 4]; 2],
}

impl<const FOURS: usize> Numbers<FOURS> {
    /// # Safety
    /// The tiles are there, and have the term.
    #[inline(always)]
    unsafe fn load([left, right]: [*const f32; 2], term: usize) -> Self {
        let [down, across] = start::<FOURS>();
        let four = |tile: *const f32, stride: usize, place: usize| {
            // SAFETY: in the tile, which is aligned to 16 bytes; the caller's.
            unsafe { *tile.cast::<Vector4<f32>>().wrapping_add(term * (stride / 4) + place) }.0
        };
        let (mut a, mut b) = ([[0.0; 4]; FOURS], [[0.0; 4]; 2]);
        unrolled::<FOURS>(|i| a[i] = four(left, Lines::<FOURS>::TERM, down + i * FURTHER[0]));
        unrolled::<2>(|j| b[j] = four(right, Lines::<2>::TERM, across + j * FURTHER[1]));
        Self { a, b }
    }
}

macro_rules! ways {
    ($($fours:literal)*) => {$(
        // SAFETY: threads have different starts, and fours of rows and columns that lie in different places from them.
        unsafe impl Way for ByThreads<$fours> {
            type Element = f32;
            type Sum = f32;
            type Left = Lines<$fours>;
            type Right = Lines<2>;
            type Memory = [[f32; DEPTH * (64 * ($fours + 2) + 2 * PADDING)]; 3];
            type Sums = [[[f32; 8]; 4]; $fours];
            type Ahead = Numbers<$fours>;
            const STAGES: u32 = 3;

            #[inline(always)]
            unsafe fn ahead<const LEFT: bool, const RIGHT: bool>(tiles: Tiles<Self>) -> Self::Ahead {
                // SAFETY: the caller's.
                unsafe { Numbers::load(tiles, 0) }
            }

            #[inline(always)]
            unsafe fn multiply<const LEFT: bool, const RIGHT: bool>(
                sums: &mut Self::Sums,
                ahead: &mut Self::Ahead,
                [tiles, next]: [Tiles<Self>; 2],
                mut fetch: impl FnMut(),
            ) {
                let never = intrinsics::opaque(0) != 0;
                let add = |sums: &mut Self::Sums, numbers: &Numbers<$fours>| {
                    unrolled::<$fours>(|f| unrolled::<4>(|i| unrolled::<8>(|j| {
                        sums[f][i][j] = GpuFloat::mul_add(numbers.a[f][i], numbers.b[j / 4][j % 4], sums[f][i][j]);
                    })));
                };
                // Two terms at a time: while one is multiplied, the other is read.
                let mut term = 0;
                while term < DEPTH {
                    // SAFETY: the caller's.
                    let second = unsafe { Numbers::load(tiles, term + 1) };
                    add(sums, ahead);
                    if term == 0 {
                        fetch();
                    }
                    divide(never);
                    term += 2;
                    let (tiles, first) = if term < DEPTH { (tiles, term) } else { (next, 0) };
                    // SAFETY: the caller's.
                    *ahead = unsafe { Numbers::load(tiles, first) };
                    add(sums, &second);
                    divide(never);
                }
            }

            #[inline(always)]
            fn each(sums: &Self::Sums, mut work: impl FnMut([usize; 2], f32)) {
                let [down, across] = start::<$fours>();
                unrolled::<$fours>(|f| unrolled::<4>(|i| unrolled::<8>(|j| {
                    let column = 4 * (across + j / 4 * FURTHER[1]) + j % 4;
                    work([4 * (down + f * FURTHER[0]) + i, column], sums[f][i][j]);
                })));
            }
        }
    )*};
}

ways!(2 4);
