use cuda_std::prelude::*;

#[kernel(cluster = 2, block = 64, arch = "sm_90")]
pub fn race(mut y: DisjointSlice<f32>, mut tile: ClusterShared<Tile<f32, 64>>) {
    *tile.own() = 1.0;
    let view = tile.sync();
    *tile.own() = 2.0;
    if let Some(y) = y.own() {
        *y = view.block(1)[0];
    }
}

fn main() {}
