//! Attacks: programs without `unsafe` that try to break what docs/safety.md promises. Each has its kernels and the host
//! code that launches them.
//!
//! The attacks of this crate compile. Each runs and is harmless: it computes what its source says, or gets a typed error.
//! tests/tests/trials/unsound.rs runs them under every check of the software device, and on a GPU. The attacks that do not
//! compile are in the folder `refused`, with the messages of the compiler.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![deny(unsafe_code)]

pub mod background;
pub mod barriers;
#[cfg(any(not(target_arch = "nvptx64"), feature = "collective"))]
pub mod collective;
pub mod index;
pub mod lanes;
pub mod launch;
pub mod lifetime;
pub mod names;
pub mod order;
pub mod pipelines;
pub mod tensor;
pub mod views;
pub mod waits;

#[cfg(not(target_arch = "nvptx64"))]
mod table;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{ATTACKS, Attack, Target};
