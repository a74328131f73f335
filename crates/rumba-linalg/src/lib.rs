//! The kernels of the runtime's linear algebra, `rumba::linalg`, which chooses among them and launches them.
//!
//! They are ordinary kernels with nothing of the runtime in them.
#![no_std]

pub mod attention;
pub mod convolution;
pub mod product;
