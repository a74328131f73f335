//! The output of a product, of which a thread takes elements by itself, and stages that are used twice.
use cuda_std::prelude::*;
use cuda_std::product::{ByThreads, ByWarps, Product, ProductStages};

#[kernel(block = 256)]
pub fn element(mut c: Disjoint<f32, Product<ByThreads>>) {
    *c.own().unwrap() = 1.0;
    c.each(|_, c| *c = 1.0);
}

#[kernel(block = 256)]
pub fn twice(a: View<f32, 3>, b: View<f32, 3>, c: Disjoint<f32, Product<ByThreads>>, stages: ProductStages<ByThreads>) {
    stages.product(a, b, c, |_, sum, c| *c = sum);
    stages.product(a, b, c, |_, sum, c| *c = sum);
}

#[kernel(block = 128)]
pub fn of_another_way(a: View<f64, 3>, c: Disjoint<f64, Product<ByThreads>>, stages: ProductStages<ByWarps<f64, 64, 64>>) {
    stages.product(a, a, c, |_, sum, c| *c = sum);
}

fn main() {}
