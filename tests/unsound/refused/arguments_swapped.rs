//! The arguments of one kernel for another.
use cuda_std::prelude::*;

#[kernel]
pub fn fill(value: u32, mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = value;
    }
}

#[kernel]
pub fn add(value: u32, mut y: DisjointSlice<u64>) {
    if let Some(y) = y.own() {
        *y += u64::from(value);
    }
}

fn main() {
    let (mut x, mut y) = ([0_u32; 4], [0_u64; 4]);
    let (mut one, mut two) = (fill(7, &mut x), add(7, &mut y));
    std::mem::swap(one.arguments_mut(), two.arguments_mut());
}
