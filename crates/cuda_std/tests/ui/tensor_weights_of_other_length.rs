use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tile = [Swizzled<f16, 128, 64>; 2];

#[kernel(block = 384)]
pub fn attend(stages: ResidentPipeline<Tile, Tile, 1, 4, 2>) {
    stages.roles::<40, 232>(
        |_, _| (),
        |queries, stages, turns| {
            let mut output = Accumulator::<128>::zero();
            let weights = Weights::<f16, 64>::zero();
            output.add_weighted(&weights, stages.wait());
            let _ = (queries, turns);
        },
    );
}

fn main() {}
