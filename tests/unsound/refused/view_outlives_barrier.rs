//! A reference into shared memory that outlives the barrier behind which it is written.
use cuda_std::prelude::*;

#[kernel]
pub fn race(mut y: DisjointSlice<f32>, tile: Shared<Tile<f32, 256>>) {
    let view = tile.sync();
    let first = &view[0];
    let mut tile = view.sync();
    *tile.own() = 1.0;
    if let Some(y) = y.own() {
        *y = *first;
    }
}

fn main() {}
