//! Products of matrices by warp groups: `wgmma` on tiles that the device's copy engine brings to shared memory.
//!
//! These are the instructions of devices of compute capability 9.0, and of no others: the kernels' crate states `sm_90a`. They
//! run beside the threads that start them, and everything here is about not touching too early what they still use.
//!
//! ```no_run
//! use cuda_std::half::f16;
//! use cuda_std::prelude::*;
//! use cuda_std::tensor::{
//!     Accumulator, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling,
//! };
//!
//! /// c = a bᵀ
//! #[kernel(block = 384, min_blocks = 1, cluster = 2)]
//! pub fn product(
//!     a: TensorMap<Swizzled<f16, 128, 64>>,
//!     b: TensorMap<Swizzled<f16, 128, 64>>,
//!     c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<128, 256, 8, 2>>,
//!     stages: TensorPipeline<(Swizzled<f16, 128, 64>, Multicast<Swizzled<f16, 256, 64>>), 4, 2, 2>,
//!     staging: TensorStaging<Swizzled<f16, 16, 64>, 2>,
//! ) {
//!     let steps = a.columns().div_ceil(64);
//!     let tiles = c.tiles();
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
//! | [`Im2colMap<Tile>`](Im2colMap) | images to copy from, as the rows of what a filter sees | the same; zeros beyond an image |
//! | [`TensorOutput<Tile, Tiling<R, C>>`](TensorOutput) | a matrix to write | each [tile](OutputTile) belongs to one block, and is written once |
//! | [`Tiling<R, C, B, D, A>`](Tiling) | tiles of `R` by `C`, in bands of `B`, for clusters of `D` by `A` blocks | all blocks have the same: it is a part of the output's type |
//! | [`TensorPipeline<Tiles, N, G, C>`](TensorPipeline) | `N` stages, for one producer and `G` warp groups, in clusters of `C` blocks | a stage is owned by one role at a time: the producer fills an [`Empty`] one, a consumer releases a [`Full`] one |
//! | [`Multicast<Tile>`](Multicast) | a tile that the blocks of a cluster have in common | each copies a part of it to all; a stage is filled when it is empty in all of them |
//! | [`product`], [`product_with`] | a whole product, of which a kernel says what becomes of the sums | everything below |
//! | [`product_in_fours`] | the same where that is long or reads arrays: four neighbours at a time | the same |
//! | [`Across<T, R, C>`](Across) | a tile whose rows are across the sum: `a b` and `aᵀ b` without a transposition | numbers of 16 bits only |
//! | [`MatrixOutput<T, Tiling<R, C>>`](MatrixOutput) | a matrix to write with ordinary stores: rows of any length, any number | as [`TensorOutput`] |
//! | [`TensorExchange`] | the way to add up sums of which blocks of a cluster have parts | always in the same order |
//! | [`Accumulator<N>`](Accumulator) | 64 by `N` sums in a warp group's registers | it is borrowed while products are under way, and has no index |
//! | [`TensorMap4<Tile>`](TensorMap4), [`TensorOutput4<Tile, R>`](TensorOutput4) | arrays of matrices with any strides, `[outer, inner, rows, columns]` | as those of one matrix; each [part](OutputBand) of `R` rows belongs to one block |
//! | [`ResidentPipeline<Q, S, M, N, G>`](ResidentPipeline) | `N` stages with tiles `S`, beside `M` with tiles `Q` that stay for many of them | as a pipeline, for each of the two |
//! | [`Weights<T, N>`](Weights) | 64 by `N` numbers of 16 bits in registers, a left operand | they are borrowed while products read them |
//! | [`PerRow<T>`](PerRow) | a number for each row of an accumulator | the four threads that share a row have the same |
//! | [`Turns<G>`](Turns) | turns of `G` warp groups | one begins its products while the others compute |
//! | [`TensorStaging`], [`TensorWriter`] | the way from registers to the output | a tile is written while the next one is being computed |
//!
//! # Roles
//!
//! [`TensorPipeline::roles`] divides the block: one thread of the first warp group is the producer, the threads of each other
//! warp group together a consumer. Roles are closures, called once each, and what they are given cannot leave them. The
//! numbers are the registers of a thread in each role, of which a multiprocessor has 65536: what the first warp group gives up, the
//! others take (`setmaxnreg`).
//!
//! Kernels that divide themselves so can begin while the launch ahead of them ends: they let the next one begin
//! (`griddepcontrol.launch_dependents`), and wait before they take a role until all that is ahead has ended (`griddepcontrol.wait`).
//! Launched as usual, neither does anything. [`product`] waits later: its consumers before they write, its producer before it
//! reads, and not even then if the runtime says of both operands that no launch writes them which may still be running, as it can
//! tell in a graph.
//!
//! # Stages
//!
//! [`Producer::acquire`] waits until all consumers have released a stage, and [`Empty::fill`] starts the copies and states how
//! many bytes come, which its type tells. [`Consumer::wait`] waits until they are there. [`Products::add`] takes the full stage
//! and keeps it as long as the product reads it; then it is released. A stage that is dropped is released at once. Producer
//! and consumers have to pass equally many stages, and so do blocks of a cluster that have tiles in common: where they do not, or a
//! stage is acquired and not filled, the producer panics.
//!
//! # Accumulators
//!
//! A product goes on after the instruction that starts it, and changes registers meanwhile. So [`Accumulator::products`] lends
//! the accumulator to a closure and waits at its end. There is neither an index nor a slice: an array with an index that is no
//! constant has to be in memory, and so has one that a loop fills. What a kernel does with the numbers is a function of row,
//! column and number, for [`Accumulator::map`]. The builder inlines each function that has a product in it, since a call
//! between product and wait would end the product early.
//!
//! # Attention
//!
//! A product of which the result becomes the left operand of another one stays in registers: an [`Accumulator`] of scores, changed row by
//! row, is rounded to [`Weights`], which multiply the rows of a stage. [`Accumulator::add_weighted_while`] starts the next product of
//! scores and this sum at once, and lends the scores to a function as soon as they are there, while the sum goes on; neither the
//! sum nor the weights can be touched in it. So the exponentials of one block of keys are computed under the product of the block
//! before, and with [`Turns`] those of one warp group under the products of another (FlashAttention-3). A stage of such a kernel is an
//! array of tiles side by side, `[Swizzled<f16, 128, 64>; 2]` for heads of 128 numbers, and keys and values take turns in it.
//! `rumba-linalg` has the kernels.
//!
//! # Why that is sound
//!
//! * A tile is written by copies into a stage that is empty, and read by products from a stage that is full. The barriers of a
//!   stage count the arrivals of each consumer's warps, in all blocks of the cluster, and the bytes. A thread arrives when its
//!   warp's products are over (`wgmma.wait_group`).
//! * All copies to the block's memory are over before it ends: the producer waits for the stages that it filled last, and
//!   blocks of a cluster wait for each other. Writers wait until their copies have read the staging memory.
//! * Keys are released while the sum with the values before them goes on: groups of products end in the order in which they were
//!   started, and only the last may be under way then.
//! * All threads of a block, and all blocks of a cluster that use each other's memory, meet before they divide into roles, so that no
//!   block arrives at barriers, or copies to stages, of one that has ended. [`product`] and [`convolution`] compare what the number of
//!   stages follows from, which threads might choose.
//! * Coordinates need one check, that columns begin at multiples of 16 bytes: the copy engine reads zeros beyond the matrix and writes
//!   nothing there.
//! * The threads of a warp group have to come to its operations together, as those of a warp to
//!   [`mma`](crate::mma). Where some do not come, the others wait for them or get unspecified numbers.
//! * A thread that panics in a role ends without its partners. Threads that wait for a stage look whether a thread of their grid has
//!   panicked, if the wait is not over within a millisecond or less, and exit then; what the grid writes is incomplete, as its launch says.
//!   The others wait for ever at what is no stage: [turns](Turns), and products of a warp group of which a warp has ended.

mod accumulator;
mod convolution;
mod fours;
mod im2col;
mod map;
mod matrix;
mod meeting;
mod output;
mod panels;
mod pipeline;
mod product;
mod resident;
mod rows;
mod stack;
mod tile;
mod turns;
mod wait;
mod width;

pub use accumulator::{Accumulator, Products};
pub use convolution::convolution;
pub use fours::product_in_fours;
#[doc(hidden)]
pub use im2col::Geometry;
pub use im2col::{Im2colMap, Im2colRows, Im2colSource, Im2colTiling, Window};
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use map::SETTLED;
pub use map::{Image, Source, TensorMap, TensorOutput, TensorTiling};
pub use matrix::{ExchangeMemory, Extent, MatrixOutput, MatrixTile, MatrixTiles, TensorExchange};
pub use output::{
    OutputTile, OutputTiles, Places, TensorStaging, TensorStagingMemory, TensorWriter, TileOrigin, Tiling,
};
pub use panels::{Panels, WeightedWidth, Weights};
pub use pipeline::{Consumer, Empty, Full, PipelineMemory, Producer, Stage, TensorPipeline, WARP_GROUP};
pub use product::{Registers, Results, product, product_with};
pub use resident::{ResidentMemory, ResidentPipeline};
pub use rows::PerRow;
pub use stack::{Bands4, Order, OutputBand, OutputBands, RowsInOrder, Source4, TensorMap4, TensorOutput4};
pub use tile::{
    Across, Element, Factor, Multicast, Operand, StageTile, Stored, Swizzled, Tile, TileMemory, TileRef, TileSource,
};
pub use turns::Turns;
pub use width::{Columns, Number, Width};
