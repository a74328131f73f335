use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel(block = 384)]
pub fn product(stages: TensorPipeline<Tiles, 4, 2>) {
    stages.roles::<40, 232>(
        |_| (),
        |consumer| {
            let mut sum = Accumulator::<256>::zero();
            sum.products(|products| {
                let stage = consumer.wait();
                products.add(stage, |a, b| (a.rows(0), b));
                products.add(stage, |a, b| (a.rows(64), b));
            });
            let stage = consumer.wait();
            drop(stage);
            sum.products(|products| products.add(stage, |a, b| (a.rows(0), b)));
        },
    );
}

fn main() {}
