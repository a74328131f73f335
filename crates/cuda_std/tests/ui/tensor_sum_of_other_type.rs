use cuda_std::prelude::*;
use cuda_std::tensor::{MatrixOutput, Swizzled, TensorMap, TensorPipeline, Tiling, product};

#[kernel(block = 256)]
pub fn multiply(
    a: TensorMap<Swizzled<i8, 64, 128>>,
    b: TensorMap<Swizzled<i8, 64, 128>>,
    c: MatrixOutput<f32, Tiling<64, 64>>,
    stages: TensorPipeline<(Swizzled<i8, 64, 128>, Swizzled<i8, 64, 128>), 2, 1>,
) {
    product((a, b), stages, c, |_, sum: f32| sum);
}

fn main() {}
