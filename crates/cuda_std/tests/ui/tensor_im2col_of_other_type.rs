use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::*;

type Tiles = (Swizzled<f16, 64, 64>, Swizzled<f16, 64, 64>);

#[kernel(block = 256)]
pub fn other_numbers(
    images: Im2colMap<Swizzled<bf16, 64, 64>>,
    filter: TensorMap<Swizzled<f16, 64, 64>>,
    stages: TensorPipeline<Tiles, 4, 1>,
) {
    stages.roles::<56, 216>(
        |producer| producer.acquire().fill(images.at(0).tap([0, 0], 0), filter.at([0, 0])),
        |_| (),
    );
}

#[kernel]
pub fn pixels_of_96_bytes(images: Im2colMap<Swizzled<f16, 64, 48>>) {
    images.prefetch();
}

fn main() {}
