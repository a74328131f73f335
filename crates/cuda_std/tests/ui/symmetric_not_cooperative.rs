use cuda_std::prelude::*;
use cuda_std::symmetric::Symmetric;

#[kernel]
pub fn waits(memory: Symmetric<f32>) {
    let _ranks = memory.sync();
}

fn main() {}
