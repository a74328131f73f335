//! The integration tests, in one binary: each file is a module.

#[cfg(feature = "algorithms")]
mod algorithms;
mod allocations;
mod arrays;
#[cfg(feature = "linalg")]
mod attention;
mod common;
mod context;
#[cfg(feature = "linalg")]
mod convolution;
#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "cust")]
mod cust;
mod devices;
// LLVM of the toolchain is for the processor that tests are compiled on.
#[cfg(all(feature = "algorithms", feature = "linalg", target_arch = "x86_64"))]
mod engines;
mod errors;
mod explore;
mod in_flight;
mod interop;
mod launch;
mod leaks;
mod libraries;
#[cfg(feature = "linalg")]
mod linalg;
mod memory;
mod nvtx;
mod occupancy;
mod profile;
mod ranks;
mod ranks_by_nccl;
mod reach;
mod streams;
mod warnings;
