//! Blocks that divide the same output into other tiles, or into tiles of which each has a part and tiles of which each has all.
use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{MatrixOutput, Swizzled, TensorExchange, TensorMap, TensorOutput, TensorPipeline, Tiling, product};

#[kernel(block = 256)]
pub fn tiles_by_block(c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<64, 128, 8>>) {
    let size = if thread::block_idx_x() == 0 { c.tiles::<64, 128>() } else { c.tiles() };
}

#[kernel(block = 256)]
pub fn product_of_other_tiles(
    a: TensorMap<Swizzled<f16, 64, 64>>,
    b: TensorMap<Swizzled<f16, 64, 64>>,
    c: MatrixOutput<f32, Tiling<64, 128>>,
    stages: TensorPipeline<(Swizzled<f16, 64, 64>, Swizzled<f16, 64, 64>), 2, 1>,
) {
    product((a, b), stages, c, |_, sum: f32| sum);
}

#[kernel(block = 256, cluster = 2)]
pub fn slices_of_whole_tiles(
    a: TensorMap<Swizzled<f16, 64, 64>>,
    b: TensorMap<Swizzled<f16, 64, 64>>,
    c: MatrixOutput<f32, Tiling<64, 64>>,
    stages: TensorPipeline<(Swizzled<f16, 64, 64>, Swizzled<f16, 64, 64>), 2, 1, 2>,
    exchange: TensorExchange<64, 64, 2>,
) {
    product((a, b), stages, (c, exchange), |_, sum: f32| sum);
}

#[kernel(block = 256, cluster = 2)]
pub fn whole_tiles_of_slices(c: MatrixOutput<f32, Tiling<64, 64, 1, 1, 1, 2>>) {
    for tile in c.tiles() {}
}

#[kernel]
pub fn without_tiles(c: MatrixOutput<f32>) {}

fn main() {}
