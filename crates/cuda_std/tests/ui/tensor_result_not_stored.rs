use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{MatrixOutput, Swizzled, TensorMap, TensorPipeline, Tiling, product};

#[kernel(block = 256)]
pub fn multiply(
    a: TensorMap<Swizzled<f16, 64, 64>>,
    b: TensorMap<Swizzled<f16, 64, 64>>,
    c: MatrixOutput<f32, Tiling<64, 64>>,
    stages: TensorPipeline<(Swizzled<f16, 64, 64>, Swizzled<f16, 64, 64>), 2, 1>,
) {
    product((a, b), stages, c, |_, sum: f32| f64::from(sum));
}

fn main() {}
