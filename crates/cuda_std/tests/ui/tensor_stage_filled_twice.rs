use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel(block = 384)]
pub fn product(a: TensorMap<Swizzled<f16, 128, 64>>, b: TensorMap<Swizzled<f16, 256, 64>>, stages: TensorPipeline<Tiles, 4, 2>) {
    stages.roles::<40, 232>(
        |producer| {
            let stage = producer.acquire();
            stage.fill(a.at([0, 0]), b.at([0, 0]));
            stage.fill(a.at([0, 64]), b.at([0, 64]));
            let (first, second) = (producer.acquire(), producer.acquire());
            second.fill(a.at([0, 0]), b.at([0, 0]));
            first.fill(a.at([0, 0]), b.at([0, 0]));
        },
        |_| (),
    );
}

fn main() {}
