use cuda_std::prelude::*;

#[kernel]
pub fn phases(mut out: DisjointSlice<u32>, tiles: Shared<(Tile<u32, 64>, Tile<u32, 64>)>) {
    if thread::thread_idx_x() < 32 {
        let tiles = tiles.sync();
        let (_, b) = tiles.get();
        if let Some(out) = out.own() {
            *out = b.iter().sum();
        }
    } else {
        let mut tiles = tiles.alternate();
        *tiles.back() = 1000;
    }
}

#[kernel]
pub fn turns(tiles: Alternating<Tile<u32, 64>>) {
    let _ = tiles.sync();
}

fn main() {}
