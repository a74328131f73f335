use cuda_std::prelude::*;
use cuda_std::tensor::{Swizzled, TensorMap};

#[kernel]
pub fn read(a: TensorMap<Swizzled<f64, 64, 16>>) {
    a.prefetch();
}

fn main() {}
