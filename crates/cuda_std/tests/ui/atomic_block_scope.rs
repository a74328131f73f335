use core::sync::atomic::Ordering::Relaxed;
use cuda_std::prelude::*;

#[kernel]
pub fn count(total: &[Atomic<u32>], mut bins: Shared<Table<Atomic<u32>, 32>>) {
    bins.part().each(|_, bin| *bin.get_mut() = 0);
    let bins = bins.sync();
    bins[0].nearest().fetch_add(1, Relaxed);
    total[0].block().fetch_add(1, Relaxed);
}

fn main() {}
