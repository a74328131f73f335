//! PyCUDA: `get_function`.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    let function = module.get_function("scale");
    function(2.0, y)
}

fn main() {}
