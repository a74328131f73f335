//! An index of a thread that is no thread's.
use cuda_std::prelude::*;

#[kernel]
pub fn write(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.get_mut(thread::ThreadIndex { value: 0 }) {
        *y = 1;
    }
}

fn main() {}
