use cuda_std::prelude::*;

#[kernel]
pub fn fill(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.get_mut(3) {
        *y = 1.0;
    }
}

fn main() {}
