//! Launch kernels written in Rust on a CUDA device: an NVIDIA GPU, or Rumba's software device.
//!
//! A kernel crate is compiled to PTX, and for the host to launchers with typed arguments. This crate
//! loads the one and launches the other:
//!
//! ```
//! use rumba::prelude::*;
//! # mod kernels { pub use rumba::test_kernels::{PTX, saxpy}; }
//!
//! let device = Device::new()?;
//! let module = device.load(kernels::PTX)?;
//!
//! let x = [1.0_f32, 2.0, 3.0];
//! let mut y = [10.0_f32, 20.0, 30.0];
//! module.for_each(y.len(), kernels::saxpy(2.0, &x, &mut y))?;
//! assert_eq!(y, [12.0, 24.0, 36.0]);
//! # Ok::<(), rumba::Error>(())
//! ```
//!
//! * [`Device`]: where everything starts. [`Module`]: PTX loaded onto it, and the launches.
//! * [`DeviceBuffer`]: memory that stays on the device between launches. Host slices work as
//!   arguments too and are copied there and back, each time.
//! * [`array`](mod@array): arrays of several dimensions, and views of them.
//! * [`Stream`] and [`Event`]: work that overlaps, and its time; both can be awaited. [`Graph`]: launches recorded once.
//! * [`split()`] and [`nccl`]: several devices that share work and exchange results.
//! * `algorithms`, with the feature of that name: reduce, scan, sort, histogram, transpose, random numbers.
//! * [`check()`]: a program under every check of the software device, for tests.
//! * [`profile()`]: what ran on the device, when, and how well. [`capacity`], [`estimate()`] and [`compare()`]: does it pay?
//! * [`Error`]: what went wrong, where, and what to do about it; [`error`](mod@error) has the kinds. [`warning`]: what may be wrong.
//! * [`memory`], [`device`], [`module`], [`occupancy`], [`nvtx`]: what else there is of each.
//!
//! Everything is released when dropped, in any order, and may be used from any thread. The crate
//! sees CUDA through `cust` and does not know which device answers.

#[cfg(feature = "algorithms")]
pub mod algorithms;
pub mod array;
mod callback;
pub mod capacity;
pub mod check;
pub mod compare;
mod compiler_log;
mod constants;
mod context;
pub mod device;
mod done;
mod driver;
pub mod error;
pub mod estimate;
pub mod event;
mod graph;
mod hints;
#[cfg(feature = "inspect")]
mod inspect;
mod launch;
mod link;
pub mod memory;
pub mod module;
pub mod nccl;
pub mod nvtx;
pub mod occupancy;
mod panics;
#[cfg(feature = "report")]
mod plot;
pub mod profile;
mod ptx;
mod split;
mod stream;
mod units;
pub mod warning;

#[doc(hidden)]
pub mod test_kernels;

pub use check::{Check, Checks, Findings, check};
pub use compare::compare;
pub use cuda_std::launch::{In, InOut, Out};
pub use device::Device;
pub use error::{Error, Result};
pub use estimate::estimate;
pub use event::Event;
pub use graph::Graph;
pub use launch::{Dim3, LaunchConfig, Timings};
pub use link::Linker;
pub use memory::{DeviceBuffer, DeviceSlice, DeviceSliceMut, PinnedBuffer, UnifiedBuffer};
pub use module::Module;
pub use profile::{Profile, Profiler, profile};
pub use split::{split, split_mut};
pub use stream::Stream;

/// What most programs need.
pub mod prelude {
    pub use crate::array::Array;
    pub use crate::{Device, DeviceBuffer, In, InOut, LaunchConfig, Module, Out, Stream, Timings};
}
