use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub struct Pair(f32, u8);

#[kernel]
pub fn padded(mut block: BlockScratch<Pair>) {
    let _ = block.reduce(Pair(1.0, 2), |a, _| a);
}

#[kernel]
pub fn sums_of_bits(mut y: DisjointSlice<f32>, mut block: BlockScratch<f32>) {
    if let Some(y) = y.own() {
        *y = block.reduce_xor(*y);
    }
}

fn main() {}
