use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>);

#[kernel(block = 384)]
pub fn product(c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<128, 256, 8>>, stages: TensorPipeline<Tiles, 4, 2>, staging: TensorStaging<Swizzled<f16, 16, 64>, 2>) {
    stages.roles::<40, 232>(
        |_| (),
        |consumer| {
            let sum = Accumulator::<256>::zero();
            let mut writer = staging.writer(consumer);
            let mut tiles = c.tiles();
            let again = c.tiles();
            if let Some(tile) = tiles.next() {
                writer.hold(tile, &sum);
                writer.hold(tile, &sum);
            }
            let other = staging.writer::<_, 4, 1, 256>(consumer);
        },
    );
}

fn main() {}
