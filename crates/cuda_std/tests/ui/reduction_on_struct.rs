use cuda_std::reduction;

#[reduction]
pub struct Sum;

fn main() {}
