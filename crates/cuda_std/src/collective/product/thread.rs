//! Products of `f32` by threads: each has 8 by 8 sums in registers.

use super::source::Form;
use super::stages::sealed::Way;
use crate::collective::mma::unrolled;
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
/// Terms for whose numbers there are registers at a time.
const TERMS: usize = 2;

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

macro_rules! ways {
    ($($fours:literal)*) => {$(
        // SAFETY: threads have different starts, and fours of rows and columns that lie in different places from them.
        unsafe impl Way for ByThreads<$fours> {
            type Element = f32;
            type Sum = f32;
            type Left = Lines<$fours>;
            type Right = Lines<2>;
            type Memory = [[f32; DEPTH * (64 * ($fours + 2) + 2 * PADDING)]; 2];
            type Sums = [[[f32; 8]; 4]; $fours];
            const STAGES: u32 = 2;
            // The compiler loads the numbers of all terms of a part first.
            const PARTS: usize = DEPTH / TERMS;

            #[inline(always)]
            unsafe fn multiply(sums: &mut Self::Sums, [left, right]: [*const f32; 2], _: [bool; 2], part: usize) {
                let [down, across] = start::<$fours>();
                let four = |tile: *const f32, stride: usize, term: usize, place: usize| {
                    // SAFETY: in the tile, which is aligned to 16 bytes; the caller's.
                    unsafe { *tile.cast::<Vector4<f32>>().wrapping_add(term * (stride / 4) + place) }.0
                };
                unrolled::<TERMS>(|term| {
                    let term = part * TERMS + term;
                    let (mut a, mut b) = ([[0.0; 4]; $fours], [[0.0; 4]; 2]);
                    unrolled::<$fours>(|i| a[i] = four(left, Lines::<$fours>::TERM, term, down + i * FURTHER[0]));
                    unrolled::<2>(|j| b[j] = four(right, Lines::<2>::TERM, term, across + j * FURTHER[1]));
                    unrolled::<$fours>(|f| unrolled::<4>(|i| unrolled::<8>(|j| {
                        sums[f][i][j] = GpuFloat::mul_add(a[f][i], b[j / 4][j % 4], sums[f][i][j]);
                    })));
                });
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
