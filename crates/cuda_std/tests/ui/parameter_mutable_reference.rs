use cuda_std::prelude::*;

#[kernel]
pub fn count(total: &mut u32) {
    *total += 1;
}

fn main() {}
