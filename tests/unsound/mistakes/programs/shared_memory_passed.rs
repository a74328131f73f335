//! OpenCL: shared memory as an argument.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn reverse(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    *tile.own() = 1.0;
    let _ = y.own();
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    module.launch((1, 256), reverse(y, 256))
}

fn main() {}
