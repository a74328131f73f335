use cuda_std::prelude::*;
use cuda_std::symmetric::{Put, Symmetric};

/// Other ranks write parts of this rank's memory.
#[kernel(cooperative)]
pub fn both_write(mut memory: Symmetric<f32, Put>) {
    memory.each(|_, element| *element = 1.0);
    let _ranks = memory.sync();
}

fn main() {}
