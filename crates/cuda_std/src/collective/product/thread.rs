//! Products of `f32` by threads: each has 16 by 8 sums in registers, or fewer rows of them.

use bytemuck::Zeroable;

use super::source::Form;
use super::stages::sealed::{Ahead, TiledMma, Tiles};
use crate::collective::mma::unrolled;
use crate::number::float::GpuFloat;
use crate::number::vector::Vector4;

/// Products of `f32` by `THREADS` threads: see the [module](super). Each has `FOURS` times four rows and twice four columns of sums: a
/// block of 256 with four times four has 256 by 128 elements, and reads the least from shared memory for each; one of 128 with
/// twice four has 64 by 128, which makes more blocks of a small product.
#[derive(Debug)]
pub enum ByThreads<const FOURS: usize = 4, const THREADS: usize = 256> {}

/// Tiles with the lines of a term one after the other, and some elements of padding, which let threads that write neighbouring terms
/// meet different memory banks.
#[derive(Debug)]
pub enum Lines<const LINES: usize, const THREADS: usize> {}

const DEPTH: usize = 8;
const STAGES: usize = 4;
const PADDING: usize = 4;

impl<const LINES: usize, const THREADS: usize> Form for Lines<LINES, THREADS> {
    type Element = f32;
    const THREADS: usize = THREADS;
    const LINES: usize = LINES;
    const DEPTH: usize = DEPTH;
    const LINE: usize = 0;
    const TERM: usize = LINES + PADDING;
}

/// The first row and column of a thread's sums, in fours. A warp has `16 FOURS` rows and 64 columns; which lane has which
/// lets a warp read all memory banks evenly.
#[inline(always)]
fn start<const FOURS: usize, const THREADS: usize>(thread: usize) -> [usize; 2] {
    let (warp, lane) = (thread % THREADS / 32, thread % 32);
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

// SAFETY: numbers, which may be zero.
unsafe impl<const FOURS: usize> Zeroable for Numbers<FOURS> {}

impl<const FOURS: usize> Numbers<FOURS> {
    /// # Safety
    /// The tiles are complete in shared memory, and have the term, and the rows and columns from the start on.
    #[inline(always)]
    unsafe fn read<W: TiledMma>([left, right]: [*const f32; 2], [down, across]: [usize; 2], term: usize) -> Self {
        let four = |tile: *const f32, stride: usize, place: usize| {
            // SAFETY: in the tile, which is aligned to 16 bytes; the caller's.
            unsafe { *tile.cast::<Vector4<f32>>().wrapping_add(term * (stride / 4) + place) }.0
        };
        let mut numbers = Self::zeroed();
        unrolled::<FOURS>(|i| numbers.a[i] = four(left, W::Left::TERM, down + i * FURTHER[0]));
        unrolled::<2>(|j| numbers.b[j] = four(right, W::Right::TERM, across + j * FURTHER[1]));
        numbers
    }

    /// Adds the products of a term to a thread's sums. The columns are taken there and back: of the numbers of an instruction one is
    /// also the last one's, which ptxas keeps at the arithmetic unit.
    #[inline(always)]
    fn add(&self, sums: &mut [[[f32; 8]; 4]; FOURS]) {
        unrolled::<FOURS>(|f| {
            unrolled::<4>(|i| {
                unrolled::<8>(|j| {
                    let j = if i % 2 == 0 { j } else { 7 - j };
                    sums[f][i][j] = GpuFloat::mul_add(self.a[f][i], self.b[j / 4][j % 4], sums[f][i][j]);
                });
            });
        });
    }
}

/// Code for each term of a tile, which is more than LLVM would repeat or copy to where it is called.
macro_rules! terms {
    ($($number:literal)*, |$term:ident| $code:block) => {$({
        let $term = $number;
        $code
    })*};
}

macro_rules! tilings {
    ($($fours:literal of $threads:literal;)*) => {$(
        // SAFETY: threads have different starts, and fours of rows and columns that lie in different places from them.
        unsafe impl TiledMma for ByThreads<$fours, $threads> {
            type Element = f32;
            type Sum = f32;
            type Left = Lines<{ $fours * $threads / 4 }, $threads>;
            type Right = Lines<128, $threads>;
            type Memory = [[f32; DEPTH * 2 * ($fours * $threads / 4 + 128 + PADDING)]; STAGES];
            type Sums = [[[f32; 8]; 4]; $fours];
            type Read = Numbers<$fours>;
            const STAGES: u32 = STAGES as u32;
            const SIDE_BY_SIDE: usize = 4;

            #[inline(always)]
            unsafe fn multiply<const LEFT: bool, const RIGHT: bool>(
                thread: usize,
                sums: &mut Self::Sums,
                read: &mut Self::Read,
                tiles: Tiles<Self>,
                ahead: &mut impl Ahead,
            ) {
                let start = start::<$fours, $threads>(thread);
                terms!(0 1 2 3 4 5 6 7, |term| {
                    // SAFETY: the caller's.
                    let next = unsafe { Numbers::read::<Self>(tiles, start, term) };
                    // In between, so that no instruction waits for another.
                    if term == 1 {
                        ahead.read();
                    }
                    read.add(sums);
                    if term < 2 {
                        // SAFETY: once for each operand.
                        unsafe { ahead.copy(term) };
                    }
                    if term == 3 {
                        ahead.write();
                    }
                    *read = next;
                });
            }

            #[inline(always)]
            fn multiply_rest(sums: &mut Self::Sums, read: &Self::Read) {
                read.add(sums);
            }

            #[inline(always)]
            fn each(thread: usize, sums: &Self::Sums, mut work: impl FnMut([usize; 2], &[f32])) {
                let [down, across] = start::<$fours, $threads>(thread);
                unrolled::<$fours>(|f| unrolled::<4>(|i| unrolled::<2>(|j| {
                    let [row, column] = [4 * (down + f * FURTHER[0]) + i, 4 * (across + j * FURTHER[1])];
                    work([row, column], &sums[f][i][4 * j..4 * j + 4]);
                })));
            }
        }
    )*};
}

tilings! {
    4 of 256;
    2 of 128;
}
