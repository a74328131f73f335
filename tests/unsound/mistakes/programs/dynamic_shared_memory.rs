//! CUDA C++: the size of shared memory in bytes, or left out.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn reverse(mut y: DisjointSlice<f32>, mut scratch: SharedSlice<f32>) {
    let _ = (y.own(), scratch.own());
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    module.launch((1, 256), reverse(y, 1024))?;
    module.launch((1, 256), reverse(y))
}

fn main() {}
