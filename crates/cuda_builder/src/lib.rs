//! Builds a crate of CUDA kernels written in Rust to PTX, with the stock Rust compiler.
//!
//! ```no_run
//! # fn main() -> Result<(), cuda_builder::BuildError> {
//! // build.rs
//! let ptx = cuda_builder::CudaBuilder::new("../kernels").build()?;
//! println!("cargo::rustc-env=KERNELS={}", ptx.path.display());
//! # Ok(())
//! # }
//! ```
//!
//! The program then has the text with `include_str!(env!("KERNELS"))`. Kernels in the program's own file are built by
//! [`build_file`].
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
mod skip;
mod stamp;
mod terminal;
pub mod toolchain;
pub mod wheels;

pub use arch::{NvvmArch, UnknownArch};
pub use builder::{CudaBuilder, DebugInfo, Ptx, Text, build_file};
pub use error::BuildError;
pub use llvm::OptLevel;
pub use rumba_llvm::LoadError;
pub use rumba_ptx::{Target, set};
