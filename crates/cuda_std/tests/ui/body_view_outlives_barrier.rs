use cuda_std::prelude::*;

#[kernel]
pub fn race(mut y: DisjointSlice<f32>, tile: Shared<Tile<f32, 256>>) {
    let view = tile.sync();
    let first = &view[0];
    let _tile = view.sync();
    if let Some(y) = y.own() {
        *y = *first;
    }
}

fn main() {}
