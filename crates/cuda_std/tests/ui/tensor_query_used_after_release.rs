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
            let query = queries.wait();
            let left = query.panels().rows::<64>(0);
            drop(query);
            scores.product::<f16, 2, 128, 4>(left, stages.wait());
            let _ = turns;
        },
    );
}

fn main() {}
