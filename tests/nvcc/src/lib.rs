//! Programs of CUDA C++ in `cuda/`, the PTX that nvcc made of them in `ptx/`, and what they should compute.
//!
//! The PTX is kept, so that no test needs nvcc; `cargo xtask nvcc` makes it anew. How a program is run on which engine is
//! the business of tests/programs.rs.

mod compare;
mod gpu;
pub mod programs;
mod tensor_map;

pub use gpu::{Arg, Gpu, Size};
pub use programs::Program;
