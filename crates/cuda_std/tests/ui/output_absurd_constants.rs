use cuda_std::mma::Fragments;
use cuda_std::prelude::*;

#[kernel]
pub fn tiles(mut y: Disjoint<u32, Tiles<0x5555_5555_5555_5556, 1>>) {
    y.each(|_, y| *y += 1);
}

#[kernel]
pub fn fragments(c: Disjoint<f32, Fragments<0x5555_5555_5555_5550, 8>>) {
    let _ = c.tile_start();
}

#[kernel]
pub fn rounds(mut y: Disjoint<u32, Rounds<[VectorOf<4>; 0x4000_0000_0000_0000], Run<16>>>) {
    y.store(0, [[0; 4]; 0x4000_0000_0000_0000]);
}

fn main() {}
