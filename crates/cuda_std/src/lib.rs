#![no_std]
//! What a CUDA kernel written in Rust may call, and how the host calls the kernel.
//!
//! A kernel crate is compiled twice. For `nvptx64-nvidia-cuda` its `#[kernel]` functions become PTX
//! entry points; for the host the same functions become typed launchers that return a
//! [`launch::Call`]. This crate is the library for both sides. It talks to no driver: a runtime
//! takes the call, copies what must be copied and launches it.

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

mod parameter;
mod slice;

#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;

pub use parameter::{Element, KernelParameter, Role};
pub use slice::{DisjointSlice, DisjointSlice2, DisjointSlice3, PerBlock};
