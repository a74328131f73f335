//! A lifetime that is written out.
use cuda_std::prelude::*;

#[kernel]
pub fn keep(x: &'static [f32], mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y = x[0];
    }
}

fn main() {}
