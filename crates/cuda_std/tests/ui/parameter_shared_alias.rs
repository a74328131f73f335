use cuda_std::prelude::*;
use cuda_std::shared::{Alternating as Turns, Pipeline as Stages};

type Block<'l> = Shared<'l, Tile<f32, 64>>;

#[kernel]
pub fn alias(tile: Block) {
    let _ = tile.sync();
}

#[kernel]
pub fn renamed(mut tiles: Turns<Tile<f32, 64>>, stages: Stages<Tile<f32, 64>>) {
    tiles.swap();
    let _ = stages.start();
}

// The host passes its length, so an alias is as good.
type Keys<'l> = SharedSlice<'l, u32>;

#[kernel]
pub fn sort(keys: Keys) {
    let _ = keys.sync();
}

fn main() {}
