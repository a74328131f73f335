//! CUDA C++: a barrier in a loop.

use cuda_std::prelude::*;

#[kernel]
pub fn steps(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    for _ in 0..3 {
        *tile.own() = 1.0;
        let view = tile.sync();
    }
}
