use cuda_std::prelude::*;

#[kernel(cluster = 2, block = 64, arch = "sm_90")]
pub fn late(mut y: DisjointSlice<f32>, mut tile: ClusterShared<Tile<f32, 64>>) {
    *tile.own() = 1.0;
    let view = tile.sync();
    let other = view.block(1);
    let _tile = view.sync();
    if let Some(y) = y.own() {
        *y = other[0];
    }
}

fn main() {}
