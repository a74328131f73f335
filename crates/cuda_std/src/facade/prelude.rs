//! Items for nearly every kernel file: `use cuda_std::prelude::*;`.

pub use crate::array::output::{
    Array, ByWarp, Disjoint, DisjointSlice, Layers, PerBlock, PerThread, Rounds, Rows, Run, Striped, Tiles, Transposed,
    VectorOf,
};
pub use crate::array::strided::{View, ViewMut};
pub use crate::array::vectorize;
pub use crate::collective::block::BlockScratch;
pub use crate::collective::warp;
pub use crate::device::arch::cfg_arch;
pub use crate::device::sync::sync_threads;
pub use crate::device::thread::{self, grid, grid_stride, gridsize};
#[cfg(not(target_arch = "nvptx64"))]
pub use crate::launch::Elements;
pub use crate::mem::atomic::Atomic;
pub use crate::mem::shared::{
    Alternating, ClusterShared, PerWarp, Pipeline, Shared, SharedSlice, Table, Table2, Tile, Tile2, Tile3,
};
pub use crate::number::float::GpuFloat;
pub use cuda_std_macros::{guvectorize, kernel, vectorize};
