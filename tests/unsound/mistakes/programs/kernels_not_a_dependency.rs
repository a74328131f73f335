//! Rust: the crate of kernels is not among the dependencies.

use kernels::scale;
use rumba::prelude::*;

fn main() {}
