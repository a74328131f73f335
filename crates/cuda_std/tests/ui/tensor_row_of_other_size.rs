use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel]
pub fn rows_of_96_bytes(a: TensorMap<Swizzled<f16, 128, 48>>) {
    a.prefetch();
}

#[kernel]
pub fn eleven_rows(a: TensorMap<Swizzled<f16, 11, 64>>) {
    a.prefetch();
}

fn main() {}
