use cuda_std::prelude::*;

#[kernel(f32, f64)]
pub fn fill<T: cuda_std::Element>(mut y: DisjointSlice<T>) {
    let _ = y.own();
}

fn main() {}
