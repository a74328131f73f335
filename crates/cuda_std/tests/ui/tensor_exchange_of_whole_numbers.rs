use cuda_std::prelude::*;
use cuda_std::tensor::{MatrixOutput, Swizzled, TensorExchange, TensorMap, TensorPipeline, Tiling, product};

#[kernel(block = 256, cluster = 2)]
pub fn multiply(
    a: TensorMap<Swizzled<i8, 64, 128>>,
    b: TensorMap<Swizzled<i8, 64, 128>>,
    c: MatrixOutput<i32, Tiling<64, 64, 1, 1, 1, 2>>,
    stages: TensorPipeline<(Swizzled<i8, 64, 128>, Swizzled<i8, 64, 128>), 2, 1, 2>,
    exchange: TensorExchange<64, 64, 2>,
) {
    product((a, b), stages, (c, exchange), |_, sum: i32| sum);
}

fn main() {}
