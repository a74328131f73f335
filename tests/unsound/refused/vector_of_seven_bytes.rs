//! A vector whose size is no multiple of its number's would see memory behind the slice.
use cuda_std::prelude::*;

use bytemuck::{Pod, Zeroable};
use cuda_std::memory::Vector;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Seven([u8; 7]);

impl Vector for Seven {
    type Number = u32;
}

fn main() {}
