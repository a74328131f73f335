use cuda_std::prelude::*;

#[kernel(cluster = 2, block = 64, arch = "sm_90")]
pub fn early(mut y: DisjointSlice<f32>, tile: ClusterShared<Tile<f32, 64>>) {
    if let Some(y) = y.own() {
        *y = tile.block(1)[0];
    }
}

fn main() {}
