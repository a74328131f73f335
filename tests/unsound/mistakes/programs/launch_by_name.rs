//! PyCUDA: a kernel by its name.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    module.launch((4, 256), "scale")
}

fn main() {}
