//! Outputs for grids that are smaller than the output: tiles of vectors, a tile of each block in every round.

use core::array;
use core::marker::PhantomData;

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role, demand};
use crate::device::thread::{block_dim_x, block_idx_x, grid_dim_x, thread_idx_x};

/// The numbers of one vector: 16 bytes that are loaded and stored together.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Words<T, const V: usize>(pub(crate) [T; V]);

/// The layout in which a 1-D grid of any size goes over the output in rounds. In each, every block has a tile, in which each
/// thread has what `SHARE` says: `[VectorOf<4>; 2]` is two vectors of four elements. Tiles of a round lie one behind the other,
/// and so do rounds. With `RUN`, the tiles of a block in so many rounds lie one behind the other, then those of the next block:
/// `Rounds<[VectorOf<4>; 2], Run<8>>`.
///
/// For kernels whose blocks stay for the whole work, because they hand something on from tile to tile or because starting
/// a block costs them much. A thread's vectors in a tile are as far apart as the block has threads, so neighbouring
/// threads have neighbouring vectors. The elements of a vector are 16 bytes; where both slices are aligned to that, as whole buffers
/// are, each vector is one access, and elsewhere one for each element.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// y = x + the number of the round.
/// #[kernel]
/// pub fn add_round(x: &[u32], mut y: Disjoint<u32, Rounds<[VectorOf<4>; 2]>>) {
///     for round in 0..y.rounds() {
///         let tile = y.load(x, round);
///         y.store(round, tile.map(|vector| vector.map(|x| x + round as u32)));
///     }
/// }
///
/// # fn main() {
/// // A tile of a block has 2 x 4 x 32 elements, a round of two blocks 512.
/// let mut y = vec![0; 1300];
/// examples::launch((2, 32), add_round(&vec![7; 1300], &mut y));
/// assert!(y.iter().enumerate().all(|(i, y)| *y == 7 + i as u32 / 512));
/// # examples::becomes("add_round", &["ld.global.nc.v4.b32", "st.global.v4.b32"]);
/// # examples::avoids("add_round", &["ld.local", "st.local"]);
/// # }
/// ```
#[derive(Debug)]
pub struct Rounds<SHARE, RUN = Run<1>>(PhantomData<(SHARE, RUN)>);

/// So many elements, 16 bytes, that are loaded and stored together: see [`Rounds`].
#[derive(Debug)]
pub enum VectorOf<const ELEMENTS: usize> {}

/// So many tiles of a block one behind the other: see [`Rounds`].
#[derive(Debug)]
pub enum Run<const TILES: usize> {}

impl<const N: usize, const V: usize, const RUN: usize> Sealed for Rounds<[VectorOf<V>; N], Run<RUN>> {}

impl<const N: usize, const V: usize, const RUN: usize> Layout for Rounds<[VectorOf<V>; N], Run<RUN>> {
    type Shape = usize;
    const ROLE: Role = Role::PerThread {
        rank: 1,
        elements: {
            demand(
                // Each by itself first, so that the product does not wrap.
                N > 0 && V > 0 && RUN > 0 && N <= 256 && V <= 256 && RUN <= 256 && N * V * RUN <= 256,
                "a thread has 1 to 256 elements in a run",
            );
            (N * V * RUN) as u32
        },
    };
    const REACH: Reach = Reach::All;
}

impl<T: Element + Copy, const N: usize, const V: usize, const RUN: usize>
    Disjoint<'_, T, Rounds<[VectorOf<V>; N], Run<RUN>>>
{
    /// Elements of a block's tile.
    #[inline(always)]
    #[must_use]
    pub fn tile_len(&self) -> usize {
        N * V * block_dim_x() as usize
    }

    /// How many rounds it takes the grid to go over all elements.
    #[inline(always)]
    #[must_use]
    pub fn rounds(&self) -> usize {
        RUN * self.shape.div_ceil(RUN * self.tile_len() * grid_dim_x() as usize)
    }

    /// The index of the first element of the block's tile; saturates at `usize::MAX` for very late rounds.
    #[inline(always)]
    #[must_use]
    pub fn tile_start(&self, round: usize) -> usize {
        self.run(round).map_or(usize::MAX, |run| run + round % RUN * self.tile_len())
    }

    /// The index of the first element of each of the thread's vectors, as [`tile_start`](Self::tile_start) counts.
    #[inline(always)]
    #[must_use]
    pub fn indices(&self, round: usize) -> [usize; N] {
        match self.run(round) {
            Some(run) => {
                let start = self.start(run, round);
                array::from_fn(|k| start + self.offset(k))
            }
            None => [usize::MAX; N],
        }
    }

    /// The elements of an input at the positions of the thread's vectors; zero bytes beyond the end of the input.
    ///
    /// `ld.global.nc.v4.b32` or `.v2.b64`; PTX 3.1, sm_35.
    #[inline(always)]
    #[must_use]
    pub fn load(&self, x: &[T], round: usize) -> [[T; V]; N]
    where
        T: bytemuck::Zeroable,
    {
        let Some(run) = self.run(round) else {
            return [[T::zeroed(); V]; N];
        };
        let start = self.start(run, round);
        // Vectors start at multiples of their size, so one address tells for all.
        if self.end(run) <= x.len() && is_aligned::<T, V>(x.as_ptr()) {
            return array::from_fn(|k| {
                // SAFETY: in the run, all of which is inside.
                unsafe { x.as_ptr().add(start + self.offset(k)).cast::<Words<T, V>>().read() }.0
            });
        }
        let left = x.len().saturating_sub(start);
        array::from_fn(|k| {
            array::from_fn(|j| {
                let offset = self.offset(k) + j;
                if offset < left {
                    // SAFETY: inside, as fewer than what is left from the start.
                    unsafe { x.as_ptr().add(start + offset).read() }
                } else {
                    T::zeroed()
                }
            })
        })
    }

    /// Writes the thread's elements, less those beyond the end.
    ///
    /// `st.global.v4.b32` or `.v2.b64`; PTX 1.0.
    #[inline(always)]
    pub fn store(&mut self, round: usize, values: [[T; V]; N]) {
        let Some(run) = self.run(round) else {
            return;
        };
        let start = self.start(run, round);
        if self.end(run) <= self.shape && is_aligned::<T, V>(self.start) {
            for (k, vector) in values.into_iter().enumerate() {
                // SAFETY: inside, as the whole run is. Tiles are disjoint, and so are the vectors of a tile's threads.
                unsafe {
                    self.start.add(start + self.offset(k)).cast::<Words<T, V>>().write(Words(vector));
                }
            }
            return;
        }
        let left = self.shape.saturating_sub(start);
        for (k, vector) in values.into_iter().enumerate() {
            for (j, value) in vector.into_iter().enumerate() {
                let offset = self.offset(k) + j;
                if offset < left {
                    // SAFETY: inside, and the thread's own, as above.
                    unsafe { self.start.add(start + offset).write(value) }
                }
            }
        }
    }

    /// The index of the first element of the run that the block's tile is in; `None` if it, or that of any other block, would
    /// wrap around to the tiles of earlier rounds. So nothing that is counted on from here wraps.
    ///
    /// A run of the whole grid has fewer than 2³⁹ elements: a launch has fewer than 2³¹ threads along x, and a thread at most
    /// 256 elements of a run.
    #[inline(always)]
    fn run(&self, round: usize) -> Option<usize> {
        let whole = RUN * self.tile_len() * grid_dim_x() as usize;
        let start = (round / RUN).checked_mul(whole)?;
        start.checked_add(whole)?;
        Some(start + block_idx_x() as usize * RUN * self.tile_len())
    }

    /// The index of the thread's first element in a tile.
    #[inline(always)]
    fn start(&self, run: usize, round: usize) -> usize {
        run + round % RUN * self.tile_len() + V * thread_idx_x() as usize
    }

    /// Behind the last element of a run: the same for all of its rounds, so that one look tells for all.
    #[inline(always)]
    fn end(&self, run: usize) -> usize {
        run + RUN * self.tile_len()
    }

    /// How far behind the thread's first vector in a tile its vector `k` is.
    #[inline(always)]
    fn offset(&self, k: usize) -> usize {
        V * k * block_dim_x() as usize
    }
}

/// Whether vectors at multiples of `V` elements from here are aligned.
#[inline(always)]
fn is_aligned<T, const V: usize>(start: *const T) -> bool {
    const { assert!(V * size_of::<T>() == 16, "`V` elements are 16 bytes") };
    start.cast::<Words<T, V>>().is_aligned()
}
