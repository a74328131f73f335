use cuda_std::prelude::*;

#[kernel]
pub fn reverse(x: &[f32], mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    let thread = thread::thread_idx_x() as usize;
    *tile.own() = x[grid::<1>()];
    sync_threads();
    if let Some(y) = y.own() {
        *y = tile[255 - thread];
    }
}

#[kernel]
pub fn fill(mut tile: Shared<Tile2<f32, 16, 16>>) {
    tile[0][1] = 1.0;
}

fn main() {}
