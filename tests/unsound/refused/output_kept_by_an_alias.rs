//! The same by aliases that have a lifetime written out, of an output and of shared memory.
use cuda_std::prelude::*;

mod renamed {
    pub type Out = cuda_std::DisjointSlice<'static, u32>;
    pub type Shared<L> = cuda_std::shared::Shared<'static, L>;
}

#[kernel]
pub fn keep(y: renamed::Out) {
    let _ = y;
}

#[kernel]
pub fn keep_a_tile(tile: renamed::Shared<Tile<u32, 64>>) {
    let _ = tile.sync();
}

fn main() {}
