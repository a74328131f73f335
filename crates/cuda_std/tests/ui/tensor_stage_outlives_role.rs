use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel(block = 384)]
pub fn product(stages: TensorPipeline<Tiles, 4, 2>) {
    let mut kept = None;
    stages.roles::<40, 232>(|_| (), |consumer| kept = Some(consumer.wait()));
    drop(kept);
}

fn main() {}
