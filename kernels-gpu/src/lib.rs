//! The kernels of the gallery, one file each.
//!
//! The crate is compiled twice: for `nvptx64-nvidia-cuda` each `#[kernel]` becomes a PTX entry, for
//! the host a function of the same name that binds typed arguments. Nothing here runs by itself;
//! the programs in `host/src/bin` launch these kernels and check what comes out.
#![no_std]

pub mod elementwise;
pub mod increment;
pub mod mandelbrot;
pub mod matmul;
pub mod reduce;
pub mod saxpy;
pub mod thread_indexing;
