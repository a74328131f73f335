//! A thread's own element, kept behind the barrier at which the others read it.
use cuda_std::prelude::*;

#[kernel]
pub fn race(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    let own = tile.own();
    let view = tile.sync();
    *own = 1.0;
    if let Some(y) = y.own() {
        *y = view[0];
    }
}

fn main() {}
