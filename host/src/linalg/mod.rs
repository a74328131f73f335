//! Linear algebra on arrays: products of matrices, convolutions, attention. The kernels are ordinary ones of the crate
//! `rumba-linalg`; this module chooses among them and launches them.

mod attention;
mod convolution;
mod product;
