//! What nearly every kernel file uses: `use cuda_std::prelude::*;`.

pub use crate::atomic::Atomic;
pub use crate::float::GpuFloat;
#[cfg(not(target_arch = "nvptx64"))]
pub use crate::launch::Elements;
pub use crate::output::{
    Array, ByWarp, Layers, PerBlock, PerThread, Rounds, Rows, Run, Striped, Tiles, Transposed, VectorOf,
};
pub use crate::shared::{Alternating, PerWarp, Pipeline, Shared, SharedSlice, Table, Table2, Tile, Tile2, Tile3};
pub use crate::sync::sync_threads;
pub use crate::thread::{self, grid, grid_stride, gridsize};
pub use crate::{Disjoint, DisjointSlice, View, ViewMut, guvectorize, kernel, vectorize, warp};
