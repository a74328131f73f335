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
                products.add(consumer.wait(), |a, b| (a.rows(0), b));
                sum.map(|_, _, x| x + 1.0);
            });
        },
    );
}

fn main() {}
