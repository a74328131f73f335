use cuda_std::prelude::*;

#[kernel(block = 256)]
pub fn reverse(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 128>>) {
    let _ = (y.own(), tile.own());
}

fn main() {}
