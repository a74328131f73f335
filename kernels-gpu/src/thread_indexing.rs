//! Who am I? Every thread writes down where it is, in one, two and three dimensions.
//!
//! A launch is a grid of blocks, and a block is a box of threads. A thread knows its index in its
//! block, its block's index in the grid, and how large both are. From these follows its position in
//! the whole grid, `block index * block size + thread index` along each dimension, which is what
//! [`grid`] gives.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// Where a thread is: what it writes into its element.
///
/// `#[repr(C)]` and [`Pod`] let host and device share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Place {
    /// The thread in its block, x first.
    pub thread: [u32; 3],
    /// The block in the grid, x first.
    pub block: [u32; 3],
}

/// This thread's place.
fn here() -> Place {
    let (thread, block) = (thread::thread_idx(), thread::block_idx());
    Place { thread: [thread.x, thread.y, thread.z], block: [block.x, block.y, block.z] }
}

/// `places[x]` is where the thread at `x` is.
#[kernel]
pub fn thread_indexing_1d(mut places: DisjointSlice<Place>) {
    if let Some(place) = places.get_mut(grid::<1>()) {
        *place = here();
    }
}

/// `places[y][x]` is where the thread at `(x, y)` is.
#[kernel]
pub fn thread_indexing_2d(mut places: Disjoint<Place, PerThread<2>>) {
    if let Some(place) = places.get_mut(grid::<2>()) {
        *place = here();
    }
}

/// `places[z][y][x]` is where the thread at `(x, y, z)` is.
#[kernel]
pub fn thread_indexing_3d(mut places: Disjoint<Place, PerThread<3>>) {
    if let Some(place) = places.get_mut(grid::<3>()) {
        *place = here();
    }
}
