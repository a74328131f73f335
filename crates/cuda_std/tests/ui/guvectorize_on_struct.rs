use cuda_std::prelude::*;

#[guvectorize("(n)->()")]
pub struct Sum;

fn main() {}
