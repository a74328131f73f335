//! Products of matrices by warp groups: `wgmma` on tiles that the device's copy engine brings to shared memory.
//!
//! These are the instructions of devices of compute capability 9.0, and of no others: the kernels' crate states `sm_90a`. They
//! run beside the threads that start them, and everything here is about not touching too early what they still use.
//!
//! ```no_run
//! use cuda_std::half::f16;
//! use cuda_std::prelude::*;
//! use cuda_std::tensor::{
//!     Accumulator, Bands, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging,
//! };
//!
//! /// c = a bᵀ
//! #[kernel(block = 384, min_blocks = 1, cluster = 2)]
//! pub fn product(
//!     a: TensorMap<Swizzled<f16, 128, 64>>,
//!     b: TensorMap<Swizzled<f16, 128, 64>>,
//!     c: TensorOutput<Swizzled<f16, 16, 64>>,
//!     stages: TensorPipeline<(Swizzled<f16, 128, 64>, Multicast<Swizzled<f16, 256, 64>>), 4, 2, 2>,
//!     staging: TensorStaging<Swizzled<f16, 16, 64>, 2>,
//! ) {
//!     let steps = a.columns().div_ceil(64);
//!     let tiles = c.tiles::<128, 256, 2>(Bands(8));
//!     let places = tiles.places();
//!     stages.roles::<40, 232>(
//!         |producer| {
//!             for [row, column] in places {
//!                 for step in 0..steps {
//!                     producer.acquire().fill(a.at([row, 64 * step]), b.at([column, 64 * step]));
//!                 }
//!             }
//!         },
//!         |consumer| {
//!             let first = 64 * consumer.rank();
//!             let mut sum = Accumulator::<256>::zero();
//!             let mut writer = staging.writer(consumer);
//!             for tile in tiles {
//!                 sum.products(|products| {
//!                     products.add_all(consumer, steps, &mut writer, first);
//!                 });
//!                 writer.hold(tile, &sum);
//!             }
//!         },
//!     );
//! }
//! # fn main() {}
//! ```
//!
//! The host passes matrices in row-major order as `(&a, [rows, columns])`, and nothing for stages and staging. On an H200 this
//! kernel takes 0.97 of the time that cuBLAS takes, at 4096, 8192 and 16384, where both run without a pause. Products with few
//! tiles want another shape: a tile is one block's work, however long its sums are.
//!
//! # What there is
//!
//! | type | what it is | what it promises |
//! |---|---|---|
//! | [`Swizzled<T, R, C>`](Swizzled) | a tile in shared memory | its rows lie so that neither copies nor products meet in a bank; no thread has a reference to it |
//! | [`TensorMap<Tile>`](TensorMap) | a matrix to copy from, a parameter of the kernel | element, tile and swizzle are those that its stages have; zeros beyond the matrix |
//! | [`TensorOutput<Tile>`](TensorOutput) | a matrix to write | each [tile](OutputTile) belongs to one block, and is written once |
//! | [`TensorPipeline<Tiles, N, G, C>`](TensorPipeline) | `N` stages, for one producer and `G` warp groups, in clusters of `C` blocks | a stage is owned by one role at a time: the producer fills an [`Empty`] one, a consumer releases a [`Full`] one |
//! | [`Multicast<Tile>`](Multicast) | a tile that the blocks of a cluster have in common | each copies a part of it to all; a stage is filled when it is empty in all of them |
//! | [`Accumulator<N>`](Accumulator) | 64 by `N` sums in a warp group's registers | it is borrowed while products are under way, and has no index |
//! | [`TensorStaging`], [`TensorWriter`] | the way from registers to the output | a tile is written while the next one is being computed |
//!
//! # Roles
//!
//! [`TensorPipeline::roles`] divides the block: one thread of the first warp group is the producer, the threads of each other
//! warp group together a consumer. Roles are closures, called once each, and what they are given cannot leave them. The
//! numbers are the registers of a thread in each role, of which a multiprocessor has 65536: what the first warp group gives up, the
//! others take (`setmaxnreg`).
//!
//! # Stages
//!
//! [`Producer::acquire`] waits until all consumers have released a stage, and [`Empty::fill`] starts the copies and states how
//! many bytes come, which its type tells. [`Consumer::wait`] waits until they are there. [`Products::add`] takes the full stage
//! and keeps it as long as the product reads it; then it is released. A stage that is dropped is released at once. Producer
//! and consumers have to pass equally many stages: where they do not, one of them waits for ever, which the software device
//! reports.
//!
//! # Accumulators
//!
//! A product goes on after the instruction that starts it, and changes registers meanwhile. So [`Accumulator::products`] lends
//! the accumulator to a closure and waits at its end. There is neither an index nor a slice: an array with an index that is no
//! constant has to be in memory, and so has one that a loop fills. What a kernel does with the numbers is a function of row,
//! column and number, for [`Accumulator::map`]. The builder inlines each function that has a product in it, since a call
//! between product and wait would end the product early.
//!
//! # Why that is sound
//!
//! * A tile is written by copies into a stage that is empty, and read by products from a stage that is full. The barriers of a
//!   stage count the arrivals of each consumer's warps, in all blocks of the cluster, and the bytes. A thread arrives when its
//!   warp's products are over (`wgmma.wait_group`).
//! * All copies to the block's memory are over before it ends: the producer waits for the stages that it filled last, and
//!   blocks of a cluster wait for each other. Writers wait until their copies have read the staging memory.
//! * Coordinates need no check: the copy engine reads zeros beyond the matrix and writes nothing there.
//! * The threads of a warp group have to come to its operations together, as those of a warp to
//!   [`mma`](crate::mma). Where some do not come, the others wait for them or get unspecified numbers.
//! * A thread that panics in a role ends without its partners, which then wait for ever, as at any barrier that counts it.

mod accumulator;
mod convolution;
mod im2col;
mod map;
mod matrix;
mod output;
mod panels;
mod pipeline;
mod product;
mod resident;
mod rows;
mod stack;
mod tile;
mod turns;

pub use accumulator::{Accumulator, Columns, Number, Products, Width};
pub use convolution::convolution;
#[doc(hidden)]
pub use im2col::Geometry;
pub use im2col::{Im2colMap, Im2colRows, Im2colSource, Im2colTiling, Window};
pub use map::{Image, Source, TensorMap, TensorOutput, TensorTiling};
pub use matrix::{ExchangeMemory, Extent, MatrixOutput, MatrixTile, MatrixTiles, TensorExchange};
pub use output::{
    Bands, Grouping, OutputTile, OutputTiles, Place, Places, TensorStaging, TensorStagingMemory, TensorWriter,
};
pub use panels::{Panels, WeightedWidth, Weights};
pub use pipeline::{Consumer, Empty, Full, PipelineMemory, Producer, Stage, TensorPipeline, WARP_GROUP};
pub use product::{Results, product};
pub use resident::{ResidentMemory, ResidentPipeline};
pub use rows::PerRow;
pub use stack::{Bands4, Order, OutputBand, OutputBands, Source4, TensorMap4, TensorOutput4};
pub use tile::{
    Across, Element, Factor, Multicast, Operand, StageTile, Stored, Swizzled, Tile, TileMemory, TileRef, TileSource,
};
pub use turns::Turns;
