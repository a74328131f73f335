//! Programs of CUDA C++ in `cuda/`, the PTX that nvcc made of them in `ptx/`, and what they should compute; the same of
//! kernels of Triton in `triton/`.
//!
//! The PTX is kept, so that no test needs nvcc or Triton; `cargo xtask nvcc` and `triton/kernels.py` make it anew. How a program is run on which engine is
//! the business of tests/programs.rs.

mod compare;
mod gpu;
mod numbers;
pub mod programs;
mod tensor_map;
pub mod triton;

pub use gpu::{Arg, Gpu, Size};
pub use programs::Program;
