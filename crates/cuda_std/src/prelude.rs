//! What nearly every kernel file uses: `use cuda_std::prelude::*;`.

pub use crate::atomic::Atomic;
pub use crate::float::GpuFloat;
pub use crate::shared::{PerWarp, Shared, Tile, Tile2};
pub use crate::sync::sync_threads;
pub use crate::thread::{self, grid, grid_stride, gridsize};
pub use crate::{DisjointChunks, DisjointSlice, DisjointSlice2, DisjointSlice3, PerBlock, kernel, warp};
