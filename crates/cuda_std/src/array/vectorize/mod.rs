//! What the kernels of a vectorized function take and do: see [`#[vectorize]`](macro@crate::vectorize) and
//! [`#[guvectorize]`](macro@crate::guvectorize).
//!
//! A function of numbers has two kernels. One is for operands that are numbers or lie one element after the other, as the
//! result does: a thread has [`CHUNK`] elements of it, which it reads together. The other is for any strides: blocks of 256
//! threads go along the result's rows; or, if an operand is read along its columns, they have tiles of 32 by 32 elements,
//! so that what one operand is read along its rows and another along its columns stays in the cache between both, and what is
//! side by side in a column is read at once. A function of arrays has one kernel, with a call for each thread. Which kernel it
//! is, what the axes are and how large blocks are, the host decides (`launch::map`).

mod flat;
mod looped;
mod strided;

pub use flat::{Flat, FlatOperands, FlatResult};
pub use looped::{Looped, LoopedOperands, LoopedResult, Single};
pub use strided::{Axes, Strided, StridedOperands, StridedResult};

use bytemuck::Pod;

/// The most axes that are left when those that lie in memory like one are joined.
pub const AXES: usize = 8;

/// Elements of a thread.
pub const CHUNK: usize = 4;

/// What vectorized functions take and return: plain data.
#[diagnostic::on_unimplemented(
    message = "a vectorized function cannot take or return `{Self}`",
    label = "not plain data",
    note = "its parameters and its result are elements of arrays: numbers, arrays of numbers, or structures with \
            `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`"
)]
pub trait Value: Pod {}

impl<T: Pod> Value for T {}
