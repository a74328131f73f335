//! The operands, results and loops of the kernels of a vectorized function: see
//! [`#[vectorize]`](macro@crate::vectorize) and [`#[guvectorize]`](macro@crate::guvectorize).
//!
//! A function of numbers has two kernels. The first kernel is for operands that are numbers or contiguous, like the
//! result: a thread computes [`CHUNK`] elements, which it reads together. The second kernel is for any strides: blocks
//! of 256 threads go along the result's rows; or, if an operand is read along its columns, blocks compute tiles of 32
//! by 32 elements, so that rows of one operand and columns of another stay in the cache between their uses, and
//! neighbours in a column are read together. A function of arrays has one kernel, with a call for each thread. The host
//! chooses the kernel, the axes and the size of blocks (`launch::map`).

mod flat;
mod looped;
mod strided;

pub use flat::{Flat, FlatOperands, FlatResult};
pub use looped::{Looped, LoopedOperands, LoopedResult, Single};
pub use strided::{Axes, Strided, StridedOperands, StridedResult};

use bytemuck::Pod;

/// The largest number of axes after joining axes that are contiguous in memory.
pub const AXES: usize = 8;

/// Elements of each thread.
pub const CHUNK: usize = 4;

/// A type of arguments and results of vectorized functions: plain data.
#[diagnostic::on_unimplemented(
    message = "a vectorized function cannot take or return `{Self}`",
    label = "not plain data",
    note = "its parameters and its result are elements of arrays: numbers, arrays of numbers, or structures with \
            `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`"
)]
pub trait Value: Pod {}

impl<T: Pod> Value for T {}
