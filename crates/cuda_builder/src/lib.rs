//! Builds a crate of CUDA kernels written in Rust to PTX, with the stock Rust compiler.
//!
//! ```no_run
//! // build.rs
//! cuda_builder::build_kernels("kernels");
//! ```
//!
//! The program then has the text with `include_str!(env!("KERNELS_PTX"))`. [`CudaBuilder`] has the options of a build.
//!
//! The kernel crate is a `no_std` library. Cargo compiles it and `core` to LLVM bitcode; the link
//! stage makes PTX of that in the compiler's own LLVM. [`toolchain`] chooses the compiler and finds the
//! other tools; `cargo xtask doctor` shows both on the command line.
//!
//! This crate installs nothing, runs nothing on a device, and does not look at what kernels do.

mod advice;
mod arch;
mod archive;
mod builder;
mod cargo;
mod error;
pub mod inspect;
mod link;
mod llvm;
mod manifest;
mod one_file;
mod shared;
mod skip;
mod stamp;
mod terminal;
pub mod toolchain;
pub mod wheels;

pub use arch::{NvvmArch, UnknownArch};
pub use builder::{CudaBuilder, DebugInfo, Ptx, Text, build_kernels};
pub use error::BuildError;
pub use llvm::OptLevel;
pub use rumba_llvm::LoadError;
pub use rumba_ptx::{Target, set};
