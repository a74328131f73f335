use cuda_std::prelude::*;

#[kernel]
pub fn copy<T: Copy>(x: &[T], mut y: DisjointSlice<T>) {
    let _ = (x, y.own());
}

fn main() {}
