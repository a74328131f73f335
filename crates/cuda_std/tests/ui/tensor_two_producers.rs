use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel(block = 384)]
pub fn product(a: TensorMap<Swizzled<f16, 128, 64>>, b: TensorMap<Swizzled<f16, 256, 64>>, stages: TensorPipeline<Tiles, 4, 2>) {
    stages.roles::<40, 232>(|producer| producer.acquire().fill(a.at([0, 0]), b.at([0, 0])), |_| ());
    stages.roles::<40, 232>(|producer| producer.acquire().fill(a.at([0, 0]), b.at([0, 0])), |_| ());
}

#[kernel(block = 384)]
pub fn fills_what_consumers_have(a: TensorMap<Swizzled<f16, 128, 64>>, b: TensorMap<Swizzled<f16, 256, 64>>, stages: TensorPipeline<Tiles, 4, 2>) {
    stages.roles::<40, 232>(|_| (), |consumer| consumer.wait().fill(a.at([0, 0]), b.at([0, 0])));
}

fn main() {}
