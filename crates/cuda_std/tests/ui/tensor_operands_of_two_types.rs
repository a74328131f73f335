use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{Bands, Grouping, MatrixOutput, Swizzled, TensorMap, TensorPipeline, product};

#[kernel(block = 256)]
pub fn multiply(
    a: TensorMap<Swizzled<f16, 64, 64>>,
    b: TensorMap<Swizzled<bf16, 64, 64>>,
    c: MatrixOutput<f32>,
    stages: TensorPipeline<(Swizzled<f16, 64, 64>, Swizzled<bf16, 64, 64>), 2, 1>,
) {
    let order = (Bands(8), Grouping { down: 1, across: 1 });
    product((a, b), stages, c, order, |_, sum: f32| sum);
}

fn main() {}
