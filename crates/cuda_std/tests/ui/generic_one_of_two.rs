use cuda_std::prelude::*;

#[kernel(T = [f32])]
pub fn fill<T: cuda_std::Element, const N: usize>(mut y: DisjointSlice<T>) {
    let _ = y.own();
}

fn main() {}
