//! Outputs for grids that are smaller than the output: tiles of vectors, a tile of each block in every round.

use core::array;

use crate::parameter::{Element, KernelParameter, Role};
use crate::thread::{block_dim_x, block_idx_x, grid_dim_x, thread_idx_x};

/// Numbers of one vector: 16 bytes that are loaded and stored together.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Vector<T, const V: usize>(pub(crate) [T; V]);

/// An output that a 1-D grid of any size goes over in rounds: in each, every block has a tile, of `N` vectors of `V`
/// elements for each thread. Tiles of a round lie one behind the other, and so do rounds.
///
/// For kernels whose blocks stay for the whole work, because they hand something on from tile to tile or because starting
/// a block costs them much. A thread's vectors in a tile are as far apart as the block has threads, so neighbouring
/// threads have neighbouring vectors. `V` elements are 16 bytes; where both slices are aligned to that, as whole buffers
/// are, each vector is one access, and elsewhere `V`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// y = x + the number of the round.
/// #[kernel]
/// pub fn add_round(x: &[u32], mut y: DisjointRounds<u32, 2, 4>) {
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
pub struct DisjointRounds<T, const N: usize, const V: usize> {
    start: *mut T,
    length: usize,
}

impl<T: Element + Copy, const N: usize, const V: usize> DisjointRounds<T, N, V> {
    /// How many elements there are, of all threads together.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no element.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Elements of a block's tile.
    #[inline(always)]
    #[must_use]
    pub fn tile(&self) -> usize {
        N * V * block_dim_x() as usize
    }

    /// How many rounds it takes the grid to go over all elements.
    #[inline(always)]
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.length.div_ceil(self.tile() * grid_dim_x() as usize)
    }

    /// The index of the first element of the block's tile.
    #[inline(always)]
    #[must_use]
    pub fn first(&self, round: usize) -> usize {
        (round * grid_dim_x() as usize + block_idx_x() as usize) * self.tile()
    }

    /// The index of the first element of each of the thread's vectors.
    #[inline(always)]
    #[must_use]
    pub fn places(&self, round: usize) -> [usize; N] {
        let (first, step) = (self.first(round), block_dim_x() as usize);
        array::from_fn(|k| first + V * (k * step + thread_idx_x() as usize))
    }

    /// What an input has at the thread's places; where it has nothing, zero bytes.
    ///
    /// `ld.global.nc.v4.b32` or `.v2.b64`; PTX 3.1, sm_35.
    #[inline(always)]
    #[must_use]
    pub fn load(&self, x: &[T], round: usize) -> [[T; V]; N]
    where
        T: bytemuck::Zeroable,
    {
        let places = self.places(round);
        // Places are multiples of a vector, so one address tells for all.
        if self.first(round) + self.tile() <= x.len() && is_aligned::<T, V>(x.as_ptr()) {
            // SAFETY: here and below: in the tile, all of which is inside.
            return places.map(|at| unsafe { x.as_ptr().add(at).cast::<Vector<T, V>>().read() }.0);
        }
        places.map(|at| array::from_fn(|j| x.get(at + j).copied().unwrap_or_else(T::zeroed)))
    }

    /// Writes the thread's elements, less those beyond the end.
    ///
    /// `st.global.v4.b32` or `.v2.b64`; PTX 1.0.
    #[inline(always)]
    pub fn store(&mut self, round: usize, values: [[T; V]; N]) {
        let places = self.places(round);
        if self.first(round) + self.tile() <= self.length && is_aligned::<T, V>(self.start) {
            for (at, vector) in places.into_iter().zip(values) {
                // SAFETY: inside, as the whole tile is. Tiles are disjoint, and so are the vectors of a tile's threads.
                unsafe { self.start.add(at).cast::<Vector<T, V>>().write(Vector(vector)) }
            }
            return;
        }
        for (at, vector) in places.into_iter().zip(values) {
            for (j, value) in vector.into_iter().enumerate() {
                if at + j < self.length {
                    // SAFETY: inside, and the thread's own, as above.
                    unsafe { self.start.add(at + j).write(value) }
                }
            }
        }
    }
}

/// Whether vectors at multiples of `V` elements from here are aligned.
#[inline(always)]
fn is_aligned<T, const V: usize>(start: *const T) -> bool {
    const { assert!(V * size_of::<T>() == 16, "`V` elements are 16 bytes") };
    start.cast::<Vector<T, V>>().is_aligned()
}

// SAFETY: pointer and length of the whole slice. In a launch of rank 1 a thread reaches only vectors of its own number in
// its own block's tiles.
unsafe impl<T: Element, const N: usize, const V: usize> KernelParameter for DisjointRounds<T, N, V> {
    const ROLE: Role = Role::PerThread {
        rank: 1,
        elements: {
            assert!(
                N > 0 && V > 0 && N * V <= 64,
                "a thread has 1 to 64 elements in a round"
            );
            (N * V) as u32
        },
    };
    type A = &'static mut [T; 0];
    type B = usize;
    type C = ();
    type D = ();
    type Value = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, length: usize, (): (), (): ()) -> Self {
        Self {
            start: start.as_mut_ptr(),
            length,
        }
    }
}
