//! Roles that are said to pass equally many stages, without `unsafe`; tiles exchanged for those of another parameter; a pipeline twice.
use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::shared::{Shared, Tile};
use cuda_std::tensor::{Swizzled, TensorPipeline};

type Half = Swizzled<f16, 64, 64>;

#[kernel(block = 256)]
pub fn assumed_equal(stages: TensorPipeline<(Half, Half), 2, 1>) {
    stages.assume_equal().roles::<40, 216>(|_| (), |_| ());
}

#[kernel]
pub fn tiles_exchanged(mut left: Shared<Tile<u32, 64>>, mut right: Shared<Tile<u32, 64>>) {
    if thread::thread_idx_x() < 32 {
        core::mem::swap(&mut left, &mut right);
    }
}

#[kernel(block = 256)]
pub fn two_pipelines(one: TensorPipeline<(Half, Half), 2, 1>, two: TensorPipeline<(Half, Half), 2, 1>) {
    let stages = if thread::thread_idx_x() < 128 { one } else { two };
    stages.roles::<40, 216>(|_| (), |_| ());
    stages.roles::<40, 216>(|_| (), |_| ());
}

fn main() {}
