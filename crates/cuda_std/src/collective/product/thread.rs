//! Products of `f32` by threads: each has 8 by 8 sums in registers.

use super::source::Form;
use super::stages::sealed::Way;
use crate::collective::mma::unrolled;
use crate::device::thread::index_in_block;
use crate::number::float::GpuFloat;
use crate::number::vector::Vector4;

/// Products of `f32` by threads, 128 by 128 elements for a block of 256: see the [module](super).
#[derive(Debug)]
pub enum ByThreads {}

/// Tiles with the lines of a term one after the other, and some elements of padding, which let threads that write neighbouring terms
/// meet different memory banks.
#[derive(Debug)]
pub enum Lines {}

const LINES: usize = 128;
const DEPTH: usize = 16;
const STRIDE: usize = LINES + 4;

impl Form for Lines {
    type Element = f32;
    const LINES: usize = LINES;
    const DEPTH: usize = DEPTH;
    const IN_LINES: bool = false;
    const STRIDE: usize = STRIDE;
}

/// The first row and column of the calling thread's sums, in fours. A warp has 32 rows and 64 columns, each thread two fours of
/// either; which lane has which lets a warp read all memory banks evenly.
#[inline(always)]
fn start() -> [usize; 2] {
    let (warp, lane) = (index_in_block() as usize / 32 % 8, index_in_block() as usize % 32);
    let (down, across) = (lane & 1 | lane >> 3 & 2, lane >> 1 & 7);
    [warp / 2 * 8 + down, warp % 2 * 16 + across]
}

/// From a thread's first four rows or columns to its second, in fours.
const FURTHER: [usize; 2] = [4, 8];

// SAFETY: threads have different starts, and fours of rows and columns that lie in different places from them.
unsafe impl Way for ByThreads {
    type Element = f32;
    type Sum = f32;
    type Left = Lines;
    type Right = Lines;
    type Memory = [[[[f32; STRIDE]; DEPTH]; 2]; 2];
    type Sums = [[f32; 8]; 8];
    const STAGES: u32 = 2;

    #[inline(always)]
    unsafe fn multiply(sums: &mut [[f32; 8]; 8], left: *const f32, right: *const f32) {
        let [down, across] = start();
        let eight = |tile: *const f32, term: usize, start: usize, further: usize| {
            let first = tile.cast::<Vector4<f32>>().wrapping_add(term * (STRIDE / 4) + start);
            // SAFETY: in the tile, which is aligned to 16 bytes; the caller's.
            let [a, b] = unsafe { [*first, *first.add(further)] };
            let ([a, b, c, d], [e, f, g, h]) = (a.0, b.0);
            [a, b, c, d, e, f, g, h]
        };
        unrolled::<DEPTH>(|term| {
            let (a, b) = (eight(left, term, down, FURTHER[0]), eight(right, term, across, FURTHER[1]));
            unrolled::<8>(|i| unrolled::<8>(|j| sums[i][j] = GpuFloat::mul_add(a[i], b[j], sums[i][j])));
        });
    }

    #[inline(always)]
    fn each(sums: &[[f32; 8]; 8], mut work: impl FnMut([usize; 2], f32)) {
        let start = start();
        let place = |axis: usize, i: usize| 4 * (start[axis] + i / 4 * FURTHER[axis]) + i % 4;
        unrolled::<8>(|i| unrolled::<8>(|j| work([place(0, i), place(1, j)], sums[i][j])));
    }
}
