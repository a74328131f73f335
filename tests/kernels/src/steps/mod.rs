//! The kernels of the book's chapter on the matrix product: `c = a bᵀ`, a file for each step, from a loop in each thread to
//! clusters of blocks, and a kernel for smaller products. The chapter shows these files; `launches` says how a host
//! launches the kernels, and tests/tests/it/steps.rs tests them.
//!
//! `a` has `inner` columns, and so has `b`, whose rows are the columns of the product: sums run along the rows of both.
//! Numbers are `f16` and sums `f32`.

#[cfg(not(target_arch = "nvptx64"))]
pub mod launches;
pub mod s01_naive;
pub mod s02_tiled;
pub mod s03_registers;
pub mod s04_tensor_cores;
pub mod s05_warp_group;
pub mod s06_queue;
pub mod s07_two_consumers;
pub mod s08_persistent;
pub mod s09_cluster;
pub mod s10_bands;
pub mod s11_small;
