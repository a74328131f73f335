#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(allow_internal_unstable, asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(
    target_arch = "nvptx64",
    allow(internal_features, reason = "the device's instructions are the compiler's internals")
)]
//! The device library of CUDA kernels written in Rust, and the host's side of kernel calls.
//!
//! A kernel crate is compiled twice. For `nvptx64-nvidia-cuda` its [`#[kernel]`](kernel) functions
//! become PTX entry points; for the host the same functions become typed launchers that return a
//! `launch::Call`. This crate is the library for both sides. It talks to no driver: a runtime takes
//! the call, copies what must be copied and launches it.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// y = a x + y
//! #[kernel]
//! pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
//!     let i = grid::<1>();
//!     if let Some(y) = y.get_mut(i) {
//!         *y += a * x[i];
//!     }
//! }
//!
//! # fn main() {
//! # let mut y = [1.0_f32, 2.0, 3.0];
//! # examples::launch((1, 32), saxpy(2.0, &[10.0, 20.0, 30.0], &mut y));
//! # assert_eq!(y, [21.0, 42.0, 63.0]);
//! # }
//! ```
//!
//! | for | see |
//! |---|---|
//! | where a thread is | [`thread`] |
//! | what a kernel writes | [`DisjointSlice`], [`Disjoint`] with the layouts of [`output`], [`atomic`] |
//! | shared memory | [`shared`] |
//! | barriers and fences | [`sync`] |
//! | the lanes of a warp | [`warp`] |
//! | sums, extremes and scans over a block | [`block`] |
//! | groups of threads | [`groups`] |
//! | shared memory of the blocks of a cluster | [`shared::ClusterShared`] |
//! | memory of several devices, with a barrier between them | [`symmetric`] |
//! | reductions and scans of whole slices | [`algorithms`] |
//! | matrices by warps | [`mma`] |
//! | matrices by warp groups, on compute capability 9.0 | [`tensor`] |
//! | bits; caches and vectors | [`bits`], [`memory`] |
//! | matrices and volumes to read | [`view`] |
//! | arrays of any strides | [`View`], [`output::Array`] |
//! | functions of numbers for whole arrays, of arrays for many | [`vectorize`](macro@vectorize), [`guvectorize`](macro@guvectorize) |
//! | four numbers in one access | [`vector`] |
//! | mathematics | [`float`] |
//! | numbers of 16 bits | [`half`] |
//! | complex numbers | [`complex`] |
//! | random numbers | [`random`] |
//! | constant memory, memory that kernels allocate | [`mod@constant`], [`heap`] |
//! | printing | [`io`] |
//! | panics | [`panic`](mod@panic) |
//! | kernels for several generations of devices | [`arch`] |
//! | what the host does | `launch` |
//!
//! Functions that only a device can carry out panic on the host and name themselves. Nothing here
//! allocates unasked, and nothing formats text on the device.

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;
// The macros name this crate by its name, here too.
extern crate self as cuda_std;

mod abi;
mod array;
mod collective;
mod device;
mod facade;
mod mem;
mod number;
mod report;

pub mod algorithms;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;

pub use abi::contract::Contract;
#[doc(hidden)]
pub use abi::description::Description;
pub use abi::parameter::{ByValue, Element, KernelParameter, Role};
#[doc(hidden)]
pub use abi::parameter::{Parameter, grid_constants};
pub use array::output::{Disjoint, DisjointSlice};
pub use array::strided::{Dimensions, View, ViewMut};
#[doc(hidden)]
pub use array::vectorize;
pub use array::{output, view};
pub use collective::{block, groups, mma, product, symmetric, tensor, warp};
pub use cuda_std_macros::{
    address_space, externally_visible, gpu_only, guvectorize, kernel, kernels, reduction, vectorize,
};
pub use device::{arch, bits, memory, sync, thread};
/// The crate [glam](https://docs.rs/glam): vectors and matrices of `f32` and `u32`. A kernel crate that itself depends on glam, with
/// features such as `i32` or `f64`, finds those types here too.
pub use glam;
pub use mem::{atomic, constant, heap, shared};
pub use number::float::GpuFloat;
pub use number::{complex, float, half, random, vector};
#[doc(inline)]
pub use report::io::{print, println};
pub use report::{io, panic};
// Behind the others: of two paths of a type, the compiler's messages have the one that is named first.
#[rustfmt::skip]
pub use facade::prelude;

/// Declares a PTX entry of this name. For `#[kernel]`: here the calling convention needs no feature of the
/// kernel's crate.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(abi_ptx)]
macro_rules! __entry {
    ($exported:literal $(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        #[unsafe(export_name = $exported)]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments, clippy::missing_safety_doc)]
        $visibility unsafe extern "ptx-kernel" fn $name($($argument: $ty),*) $body
    };
}
