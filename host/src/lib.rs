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
//! * [`split()`], [`nccl`] and [`ranks`]: several devices, and several processes, that share work and exchange results;
//!   [`symmetric`]: their kernels read and write each other's memory.
//! * [`interop`]: tensors of other libraries, without a copy; `python`, with the feature of that name: arrays of Python.
//! * `algorithms`, with the feature of that name: reduce, scan, sort, histogram, transpose, random numbers.
//! * `linalg`, with the feature of that name: products of matrices, convolutions, attention.
//! * [`cublas`], [`cufft`] and [`curand`]: NVIDIA's libraries, loaded when first used; on NVIDIA GPUs only.
//! * [`check()`]: a program under every check of the software device, for tests; [`explore`]: in every order of its threads.
//! * [`profile()`]: what ran on the device, when, and how well. [`capacity`], [`estimate()`] and [`compare()`]: does it pay?
//!   [`Bench`]: comparisons as benchmarks.
//! * [`Error`]: what went wrong, where, and what to do about it; [`error`](mod@error) has the kinds. [`warning`]: what may be wrong.
//! * [`memory`], [`device`], [`module`], [`occupancy`], [`nvtx`]: further types of each subject.
//!
//! Everything is released when dropped, in any order, and may be used from any thread. The crate
//! calls the CUDA driver API and does not know which device answers.

#[cfg(feature = "algorithms")]
pub mod algorithms;
pub mod array;
mod base;
mod buffers;
mod context;
mod cuda;
#[cfg(feature = "cust")]
pub mod cust;
mod devices;
pub mod interop;
mod launch;
mod libraries;
#[cfg(feature = "linalg")]
pub mod linalg;
mod modules;
mod performance;
mod streams;

pub use base::{error, warning};
pub use devices::{check, device, explore, nccl, ranks, symmetric};
#[cfg(feature = "python")]
pub use interop::python;
#[doc(hidden)]
pub use launch::test_kernels;
pub use libraries::{cublas, cufft, curand};
pub use modules::module;
pub use performance::{capacity, compare, estimate, nvtx, occupancy, profile};

pub use base::error::{Error, Result};
pub use buffers::buffer::DeviceBuffer;
pub use buffers::pinned::PinnedBuffer;
pub use buffers::unified::UnifiedBuffer;
pub use buffers::view::{DeviceSlice, DeviceSliceMut};
pub use cuda_std::kernels;
pub use cuda_std::launch::{In, InOut, Out};
pub use devices::check::{Check, Checks, Findings, check};
pub use devices::device::Device;
pub use devices::split::{split, split_mut};
pub use devices::symmetric::SymmetricBuffer;
pub use launch::config::{Dim3, IntoLaunchConfig, LaunchConfig};
pub use launch::graph::Graph;
pub use launch::timings::Timings;
pub use modules::link::Linker;
pub use modules::module::Module;
pub use performance::bench::Bench;
pub use performance::compare::compare;
pub use performance::estimate::estimate;
pub use performance::profile::{Profile, Profiler, profile};
pub use streams::event::Event;
pub use streams::stream::Stream;

/// Tells the layer of profiles that the process has a device. `devices` itself knows no profiles.
fn found(device: &Device) {
    performance::profile::process::begin(device);
}

/// Marks in a stream's order of work, and futures that wait for them.
pub mod event {
    pub use crate::streams::done::{CopyDone, Done};
    pub use crate::streams::event::Event;
}

/// Memory: typed buffers on the device, views of them, page-locked and shared host memory, and copies in the background.
pub mod memory {
    pub use crate::buffers::buffer::{DeviceBuffer, DevicePointer};
    pub use crate::buffers::ordered::MemoryPool;
    pub use crate::buffers::pinned::PinnedBuffer;
    pub use crate::buffers::unified::{HostView, HostViewMut, UnifiedBuffer};
    pub use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
    pub use crate::streams::copies::{CopyScope, PendingCopy};
}

/// Items that most programs need. No name is also in the prelude of `cuda_std`, so a program in one file imports both:
///
/// ```
/// use cuda_std::prelude::*;
/// use rumba::prelude::*;
///
/// type Data = (Device, DeviceBuffer<u32>, In<[u32; 4]>, InOut<[u32; 4]>, Out<[u32; 4]>);
/// type Launches<'v> = (LaunchConfig<'v>, Module, Stream, Timings);
/// // The output of a kernel; the host's arrays are `rumba::array::Array`.
/// type Output = Array<2>;
/// ```
pub mod prelude {
    pub use crate::{Device, DeviceBuffer, In, InOut, LaunchConfig, Module, Out, Stream, Timings};
}
