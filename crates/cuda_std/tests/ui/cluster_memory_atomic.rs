use cuda_std::prelude::*;

#[kernel(cluster = 2, arch = "sm_90")]
pub fn counted(bins: ClusterShared<Table<Atomic<u32>, 4>>) {
    let _ = bins.sync();
}

fn main() {}
