//! Device memory by its address, lent by safe code.
use cuda_std::prelude::*;

#[vectorize]
pub fn twice(x: u32) -> u32 {
    x * 2
}

fn main() {
    let owner = 0_u8;
    let _region = cuda_std::launch::Region::device::<u32>(0x1000, &owner, true, &[4], &[1]);
}
