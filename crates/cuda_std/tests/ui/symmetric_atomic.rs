use cuda_std::prelude::*;
use cuda_std::symmetric::Symmetric;

#[kernel(cooperative)]
pub fn atomic(memory: Symmetric<Atomic<u32>>) {
    let _ranks = memory.sync();
}

fn main() {}
