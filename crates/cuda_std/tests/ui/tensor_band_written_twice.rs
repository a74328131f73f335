use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tile = [Swizzled<f16, 128, 64>; 2];

#[kernel(block = 384)]
pub fn attend(stages: ResidentPipeline<Tile, Tile, 1, 4, 2>, o: TensorOutput4<Swizzled<f16, 16, 64>, 128>, mut staging: TensorStaging<Swizzled<f16, 16, 64>, 2>) {
    stages.roles::<40, 232>(
        |_, _| (),
        |queries, stages, turns| {
            let output = Accumulator::<128>::zero();
            for band in o.bands() {
                staging.write(queries, band, &output);
                staging.write(queries, band, &output);
            }
            let _ = (stages, turns);
        },
    );
}

fn main() {}
