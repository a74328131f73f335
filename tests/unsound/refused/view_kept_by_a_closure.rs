//! A view of shared memory that a closure reads, kept behind the barrier at which other threads write.
use cuda_std::prelude::*;

#[kernel]
pub fn race(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    let mut kept = None;
    tile.read(|tile| kept = Some(&tile[0]));
    *tile.own() = 1.0;
    if let (Some(y), Some(kept)) = (y.own(), kept) {
        *y = *kept;
    }
}

#[kernel]
pub fn returned(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    let first = tile.read(|tile| &tile[0]);
    *tile.own() = 1.0;
    if let Some(y) = y.own() {
        *y = *first;
    }
}

fn main() {}
