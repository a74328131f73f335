//! Structures whose bytes are not all written: as a value, as an element, and as what lanes exchange.
use bytemuck::{NoUninit, Pod, Zeroable};
use cuda_std::prelude::*;

#[derive(Clone, Copy, NoUninit)]
#[repr(C)]
pub struct Padded {
    small: u8,
    large: u32,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Large {
    small: u16,
    large: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Plain(u8, u32);

#[kernel]
pub fn by_value(value: Plain, x: &[Plain], mut y: DisjointSlice<Plain>) {
    let _ = (value, x, &mut y, warp::shuffle(value, 0));
}

fn main() {}
