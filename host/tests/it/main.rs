//! The integration tests, in one binary: each file is a module.

#[cfg(feature = "algorithms")]
mod algorithms;
mod allocations;
mod arrays;
mod common;
mod context;
mod devices;
mod errors;
mod explore;
mod in_flight;
mod launch;
mod leaks;
mod memory;
mod nvtx;
mod occupancy;
mod profile;
mod reach;
mod streams;
mod warnings;
