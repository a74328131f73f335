//! Blocks that write the same output in tiles of other sizes.
use cuda_std::prelude::*;
use cuda_std::product::{ByThreads, Product, ProductStages, product_by_elements};

#[kernel]
pub fn write(
    a: View<f32, 3>,
    b: View<f32, 3>,
    c: Disjoint<f32, Product<ByThreads>>,
    large: ProductStages<ByThreads>,
    small: ProductStages<ByThreads<2, 128>>,
) {
    match thread::block_idx_x() {
        0 => large.product(a, b, c, |_, sum, c| *c = sum),
        1 => small.product(a, b, c, |_, sum, c| *c = sum),
        _ => product_by_elements(a, b, c, |_, sum, c| *c = sum),
    }
}

fn main() {}
