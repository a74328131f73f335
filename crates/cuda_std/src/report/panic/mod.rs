//! Panics in kernels: what a thread leaves behind, and how the host reads it.
//!
//! A thread that panics writes location and message into a [`Record`] of its module, notifies the host of the record,
//! and exits. The launch runs to its end without the thread, and the context stays usable. The record keeps the first
//! panic since the host last read it, and counts the others.
//!
//! * Nothing is formatted on the device: a record holds addresses of texts, and numbers. The host makes the sentence.
//! * All of it is inlined into the kernel: a call, even one that never happens, costs every thread of a kernel the
//!   registers and the stack of a call.
//! * Without a runtime that said where to ring (the `bell` is null), a panic ends in `trap`, which stops the kernel and
//!   its context.
//!
//! A barrier does not wait for threads that have exited. Waits of tensor pipelines look into the record when they are long, and
//! end with the thread if one of their grid has panicked. A kernel whose threads wait for each other in memory in other ways may wait
//! for one that panicked, and then it ends only by the driver's or the device's time limit.

#[cfg(target_arch = "nvptx64")]
mod device;

#[cfg(not(target_arch = "nvptx64"))]
pub use crate::abi::record::RECORD_SYMBOL;
pub use crate::abi::record::{Kind, PanicLocation, Record};
