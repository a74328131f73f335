use cuda_std::mma::DisjointFragments;
use cuda_std::prelude::*;

#[kernel]
pub fn tiles(mut y: DisjointTiles<u32, 0x5555_5555_5555_5556, 1>) {
    y.each(|_, y| *y += 1);
}

#[kernel]
pub fn fragments(c: DisjointFragments<f32, 0x5555_5555_5555_5550, 8>) {
    let _ = c.corner();
}

#[kernel]
pub fn rounds(mut y: DisjointRounds<u32, 0x4000_0000_0000_0000, 4, 16>) {
    y.store(0, [[0; 4]; 0x4000_0000_0000_0000]);
}

fn main() {}
