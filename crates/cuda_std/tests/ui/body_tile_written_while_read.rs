use cuda_std::prelude::*;

#[kernel]
pub fn race(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    *tile.own() = 1.0;
    let view = tile.sync();
    *tile.own() = 2.0;
    if let Some(y) = y.own() {
        *y = view[0];
    }
}

fn main() {}
