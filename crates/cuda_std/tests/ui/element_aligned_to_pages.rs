use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
pub struct Page([u8; 4096]);

#[kernel]
pub fn first_byte(pages: &[Page], mut y: DisjointSlice<u8>) {
    if let Some(y) = y.own() {
        *y = pages[0].0[0];
    }
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(32))]
pub struct Wide([u32; 8]);

#[kernel]
pub fn dynamic(mut wide: SharedSlice<Wide>) {
    let _ = wide.own();
}

fn main() {}
