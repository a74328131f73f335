use cuda_std::prelude::*;

#[kernel]
#[unsafe(no_mangle)]
pub extern "C" fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
