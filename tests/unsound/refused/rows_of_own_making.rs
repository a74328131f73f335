//! Rows of a matrix that lie where they like.
use cuda_std::prelude::*;

use cuda_std::mma::Rows;

pub struct Nowhere;

impl Rows<f32> for Nowhere {}

fn main() {}
