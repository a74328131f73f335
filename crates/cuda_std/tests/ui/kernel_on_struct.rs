use cuda_std::prelude::*;

#[kernel]
pub struct Fill;

fn main() {}
