use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tile = [Swizzled<f16, 128, 64>; 2];

#[kernel(block = 384)]
pub fn attend(stages: ResidentPipeline<Tile, Tile, 1, 4, 2>) {
    let mut kept = None;
    stages.roles::<40, 232>(
        |_, _| (),
        |queries, stages, turns| {
            kept = Some(turns);
            let _ = (queries, stages);
        },
    );
    kept.map(Turns::take);
}

fn main() {}
