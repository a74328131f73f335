//! Rust: a result that is not taken out.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn main() {
    let device = Device::new();
    let module = device.load("");
}
