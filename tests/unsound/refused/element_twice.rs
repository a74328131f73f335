//! One element as two mutable references.
use cuda_std::prelude::*;

#[kernel]
pub fn write(mut y: DisjointSlice<u32>) {
    if let (Some(a), Some(b)) = (y.own(), y.own()) {
        *a = *b;
    }
}

fn main() {}
