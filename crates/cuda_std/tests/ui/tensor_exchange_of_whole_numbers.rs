use cuda_std::prelude::*;
use cuda_std::tensor::{Bands, Grouping, MatrixOutput, Swizzled, TensorExchange, TensorMap, TensorPipeline, product};

#[kernel(block = 256, cluster = 2)]
pub fn multiply(
    a: TensorMap<Swizzled<i8, 64, 128>>,
    b: TensorMap<Swizzled<i8, 64, 128>>,
    c: MatrixOutput<i32>,
    stages: TensorPipeline<(Swizzled<i8, 64, 128>, Swizzled<i8, 64, 128>), 2, 1, 2>,
    exchange: TensorExchange<64, 64, 2>,
) {
    let order = (Bands(8), Grouping { down: 1, across: 1 });
    product((a, b), stages, (c, exchange), order, |_, sum: i32| sum);
}

fn main() {}
