//! Numbers that order the threads of one block, in the memory of a cluster, and a view of it that outlives its barrier.
use cuda_std::prelude::*;

#[kernel(cluster = 2, block = 64)]
pub fn atomic_memory(mut own: ClusterShared<Table<Atomic<u32>, 64>>) {
    let _ = own.sync();
}

#[kernel(cluster = 2, block = 64)]
pub fn view_kept(mut own: ClusterShared<Tile<u32, 64>>) {
    *own.own() = 1;
    let view = own.sync();
    let other = view.block(1);
    let mut own = view.sync();
    *own.own() = other[0];
}

#[kernel(cluster = 2, block = 64)]
pub fn two_of_them(one: ClusterShared<Tile<u32, 64>>, two: ClusterShared<Tile<u32, 64>>) {
    let _ = (one.sync(), two.sync());
}

fn main() {}
