//! Matrices by warp groups: `wgmma` on tiles that tensor copies bring, on devices of compute capability 9.0.

mod accumulator;
mod map;
mod output;
mod pipeline;
mod tile;

pub use accumulator::{Accumulator, Columns, Products, Width};
pub use map::{Image, Source, TensorMap, TensorOutput, TensorTiling};
pub use output::{Bands, OutputTile, OutputTiles, Places, TensorStaging, TensorStagingMemory, TensorWriter};
pub use pipeline::{Consumer, Empty, Full, PipelineMemory, Producer, Stage, TensorPipeline, WARP_GROUP};
pub use tile::{Element, Multicast, StageTile, Swizzled, Tile, TileMemory, TileRef};
