use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel(block = 384)]
pub fn product(stages: TensorPipeline<Tiles, 4, 2>, staging: TensorStaging<Swizzled<f16, 16, 64>, 2>) {
    let mut kept = None;
    stages.roles::<40, 232>(|_| (), |consumer| kept = Some(staging.writer::<_, 4, 1, 256>(consumer)));
    drop(kept);
}

fn main() {}
