use cuda_std::prelude::*;

#[vectorize]
pub struct Square;

fn main() {}
