//! Products of matrices by whole blocks: `c = f(a b)` for batches of matrices with any strides, where `f` is a Rust function of each
//! sum. A kernel is a few lines:
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::product::{ByThreads, Product, ProductStages};
//!
//! /// The absolute values of a b.
//! #[kernel(block = 256)]
//! pub fn absolute_product(
//!     a: View<f32, 3>,
//!     b: View<f32, 3>,
//!     c: Disjoint<f32, Product<ByThreads>>,
//!     stages: ProductStages<ByThreads>,
//! ) {
//!     stages.product(a, b, c, |_, sum, c| *c = sum.abs());
//! }
//!
//! # fn main() {
//! let a: Vec<f32> = (0..6).map(|i| i as f32).collect();
//! let b: Vec<f32> = (0..12).map(|i| (i % 5) as f32 - 2.0).collect();
//! let mut c = vec![0.0_f32; 8];
//! examples::launch((1, 256), absolute_product((&a, [1, 2, 3]), (&b, [1, 3, 4]), (&mut c, [1, 2, 4])));
//! for (i, c) in c.into_iter().enumerate() {
//!     let sum: f32 = (0..3).map(|k| a[i / 4 * 3 + k] * b[k * 4 + i % 4]).sum();
//!     assert_eq!(c, sum.abs());
//! }
//! # examples::becomes("absolute_product", &["cp.async.cg.shared.global", "fma.rn.f32", "ld.shared.v4.b32"]);
//! # examples::avoids("absolute_product", &["ld.local", "st.local"]);
//! # }
//! ```
//!
//! | tiling | threads | elements | sums | multiplied by | operands |
//! |---|---|---|---|---|---|
//! | [`ByThreads`] | 256 | `f32` | `f32` | `fma.rn.f32` | any strides |
//! | [`ByWarps<f64, 64, 128>`](ByWarps), `<f64, 64, 64>` | 128 | `f64` | `f64` | [`mma`](crate::mma) | any strides |
//! | [`ByWarps<Tf32>`](ByWarps) | 256 | `f32`, rounded to [`Tf32`](crate::mma::Tf32) | `f32` | `mma` | any strides |
//! | [`ByWarps<f16>`](ByWarps), `bf16` | 256 | those | `f32` | `mma` | aligned, and along the sum one after the other |
//! | [`ByWarps<i8>`](ByWarps) | 256 | `i8` | `i32` | `mma` | the same |
//! | [`product_by_elements`] | any | these and any [`Term`] | [`Term::Sum`] | threads | any strides, without shared memory |
//!
//! *Aligned* is an operand whose address and whose distances between rows, columns and matrices are multiples of 16 bytes, other
//! than that between neighbouring terms of a sum, which is one element.
//!
//! All threads of a block come to a product by stages with the same operands and output, which is compared.
//!
//! Blocks bring tiles of the operands to shared memory by asynchronous copies and multiply one while the next ones are on their way.
//! Products by warp groups, for compute capability 9.0, are in [`tensor`](crate::tensor).

mod elements;
mod output;
mod source;
mod stages;
mod thread;
mod warp;

pub use elements::{Term, product_by_elements};
pub use output::{ByElements, Product};
pub use stages::{ProductStages, TiledMma};
pub use thread::ByThreads;
pub use warp::ByWarps;
