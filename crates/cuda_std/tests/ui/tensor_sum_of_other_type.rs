use cuda_std::prelude::*;
use cuda_std::tensor::{Bands, Grouping, MatrixOutput, Swizzled, TensorMap, TensorPipeline, product};

#[kernel(block = 256)]
pub fn multiply(
    a: TensorMap<Swizzled<i8, 64, 128>>,
    b: TensorMap<Swizzled<i8, 64, 128>>,
    c: MatrixOutput<f32>,
    stages: TensorPipeline<(Swizzled<i8, 64, 128>, Swizzled<i8, 64, 128>), 2, 1>,
) {
    let order = (Bands(8), Grouping { down: 1, across: 1 });
    product((a, b), stages, c, order, |_, sum: f32| sum);
}

fn main() {}
