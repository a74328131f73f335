use cuda_std::prelude::*;

#[kernel]
pub fn larger_than_any_block_has(mut tile: Shared<Table<f32, 65536>>) {
    let _ = tile.own();
}

#[kernel]
pub fn without_size(mut tile: Shared<Tile<(), 4294967295>>) {
    tile.part().each(|_, _| {});
}

#[kernel]
pub fn without_elements(mut tile: Shared<Tile2<f32, 0, 32>>) {
    let _ = tile.own();
}

fn main() {}
