use cuda_std::prelude::*;

#[kernel(T = [f32, String])]
pub fn fill<T: cuda_std::Element>(mut y: DisjointSlice<T>) {
    let _ = y.own();
}

fn main() {}
