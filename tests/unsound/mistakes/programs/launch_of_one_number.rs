//! Numba: `kernel.forall(n)`, as one number.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    module.launch(256, scale(2.0, y))
}

fn main() {}
