//! Rust: results that are read before the launch.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    let call = scale(2.0, y);
    println!("{}", y[0]);
    module.for_each(4, call)
}

fn main() {}
