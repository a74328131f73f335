//! Rust: arguments in another order.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    module.for_each(4, scale(y, 2.0))
}

fn main() {}
