//! The scenarios: sequences of calls, with the code that each call must return.

mod array;
mod asynchrony;
mod context;
mod execution;
mod failure;
mod graph;
mod in_use;
mod library;
mod memory;
mod module;
mod order;
mod tensor;

pub use array::*;
pub use asynchrony::*;
pub use context::*;
pub use execution::*;
pub use failure::*;
pub use graph::*;
pub use in_use::*;
pub use library::*;
pub use memory::*;
pub use module::*;
pub use order::*;
pub use tensor::*;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use crate::driver::abi::*;
use crate::driver::walk::steps;

/// The PTX of all kernels, ended by NUL.
const KERNELS: &str = concat!(include_str!("kernels.ptx"), "\0");

/// No function, stream, event or context.
const NONE: usize = 0;

/// Initialises the driver and makes the primary context current.
fn primary() -> usize {
    let mut context = 0;
    steps! {
        0 => cuInit(0);
        0 => cuDevicePrimaryCtxRetain(&mut context, 0);
        0 => cuCtxSetCurrent(context);
    }
    context
}

/// Loads the kernels into the current context.
fn kernels() -> usize {
    let mut module = 0;
    steps! { 0 => cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()); }
    module
}

/// A kernel of a module.
fn kernel(module: usize, name: &CStr) -> usize {
    let mut function = 0;
    steps! { 0 => cuModuleGetFunction(&mut function, module, name.as_ptr()); }
    function
}

/// Allocates device memory in the current context.
fn allocate(bytes: usize) -> u64 {
    let mut pointer = 0;
    steps! { 0 => cuMemAlloc_v2(&mut pointer, bytes); }
    pointer
}

/// Launches one block of one thread without parameters, in the default stream.
unsafe fn launch(function: usize) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { launch_with(function, [1; 3], [1; 3], 0, null_mut(), null_mut()) }
}

/// Launches in the default stream.
unsafe fn launch_with(
    function: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    parameters: *mut *const c_void,
    extra: *mut *const c_void,
) -> c_int {
    let ([x, y, z], [a, b, c]) = (grid, block);
    // SAFETY: as the caller vouches.
    unsafe { cuLaunchKernel(function, x, y, z, a, b, c, shared, NONE, parameters, extra) }
}
