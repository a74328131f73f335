use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tile = [Swizzled<f16, 128, 64>; 2];

#[kernel(block = 384)]
pub fn attend(stages: ResidentPipeline<Tile, Tile, 1, 4, 2>) {
    stages.roles::<40, 232>(
        |_, _| (),
        |queries, stages, turns| {
            let mut scores = Accumulator::<128>::zero();
            let mut output = Accumulator::<128>::zero();
            let weights = Weights::<f16, 128>::zero();
            let query = queries.wait();
            let left = query.panels().rows::<64>(0);
            let (right, values) = (stages.wait(), stages.wait());
            output.add_weighted_while::<f16, _, 2, 128, 128, 4, 2>(
                &weights, values, &mut scores, left, right, stages, turns,
                |_| output.map_rows(PerRow::splat(0.5), |factor, sum| factor * sum),
            );
        },
    );
}

fn main() {}
