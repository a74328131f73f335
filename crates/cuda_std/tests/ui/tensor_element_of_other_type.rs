use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

use cuda_std::half::bf16;

#[kernel(block = 384)]
pub fn product(a: TensorMap<Swizzled<bf16, 128, 64>>, b: TensorMap<Swizzled<f16, 256, 64>>, stages: TensorPipeline<Tiles, 4, 2>) {
    stages.roles::<40, 232>(|producer| producer.acquire().fill(a.at([0, 0]), b.at([0, 0])), |_| ());
}

#[kernel]
pub fn whole_numbers(a: TensorMap<Swizzled<u32, 128, 32>>) {
    a.prefetch();
}

fn main() {}
