//! Rust: vectors by value.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, y: Vec<f32>) -> rumba::Result<()> {
    module.for_each(y.len(), scale(2.0, y))
}

fn main() {}
