use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel]
pub fn sums() {
    let sum = Accumulator::<100>::zero();
}

fn main() {}
