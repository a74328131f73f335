//! The kernels of the gallery, one file each.
//!
//! The crate is compiled twice: for `nvptx64-nvidia-cuda` each `#[kernel]` becomes a PTX entry, for
//! the host a function of the same name that binds typed arguments. Nothing here runs by itself;
//! the programs in `host/gallery/src/bin` launch these kernels and check what comes out.
//!
//! Their PTX is for sm_80 and newer, because `matmul_mma` is; without it sm_70 would do.
#![no_std]

pub mod black_scholes;
pub mod convolution;
pub mod elementwise;
pub mod histogram;
pub mod increment;
pub mod kmeans;
pub mod laplace;
pub mod layer_norm;
pub mod mandelbrot;
pub mod matmul;
pub mod matmul_mma;
pub mod nbody;
pub mod pi;
pub mod radix_sort;
pub mod reduce;
pub mod saxpy;
pub mod scan;
pub mod softmax;
pub mod spmv;
pub mod thread_indexing;
pub mod transpose;
