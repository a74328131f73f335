//! A thread's own element, written while others read.
use cuda_std::prelude::*;

#[kernel]
pub fn race(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    let sum = tile.read(|view| {
        *tile.own() = 1.0;
        view[0]
    });
    if let Some(y) = y.own() {
        *y = sum;
    }
}

fn main() {}
