use cuda_std::prelude::*;

#[kernel]
pub fn histogram(x: &[u32], counts: &[Atomic<u32>]) {
    let i = grid::<1>();
    if i < x.len() {
        counts[x[i] as usize] += 1;
        counts[0] |= x[i];
    }
}

fn main() {}
