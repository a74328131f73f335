//! By threads, each with its part of the sums in registers: any device, any type.

use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::prelude::*;
use cuda_std::product::{ByThreads, Product, ProductStages, Term, product_by_elements};

use super::{Activation, Epilogue, Output, Real};

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Rows and columns of a tile of [`product_elements`].
pub const TILE: usize = 64;

/// `c = f(a b)`, with operands read directly from global memory: for small products, and any strides and types.
#[kernel((T, U, S) = [
    (f16, f16, f32), (bf16, bf16, f32), (f16, f32, f32), (bf16, f32, f32), (f32, f32, f32), (f64, f64, f64), (i8, i32, i32),
    (e4m3, f16, f32), (e4m3, bf16, f32), (e4m3, f32, f32), (e5m2, f16, f32), (e5m2, bf16, f32), (e5m2, f32, f32),
], block = 256)]
pub fn product_elements<T: Term<Sum = S>, U: Output<S>, S: Real>(
    a: View<T, 3>,
    b: View<T, 3>,
    bias: View<U, 3>,
    residual: View<U, 3>,
    alpha: S,
    beta: S,
    activation: Activation,
    c: Disjoint<U, Product>,
) {
    let epilogue = Epilogue::new(bias, residual, alpha, beta, activation);
    product_by_elements(a, b, c, |index, sum, c| epilogue.finish(index, sum, c));
}

/// `c = f(a b)` of `f32`, in tiles of 256 by 128 that are brought to shared memory.
#[kernel(block = 256, min_blocks = 1)]
pub fn product_threads(
    a: View<f32, 3>,
    b: View<f32, 3>,
    bias: View<f32, 3>,
    residual: View<f32, 3>,
    alpha: f32,
    beta: f32,
    activation: Activation,
    c: Disjoint<f32, Product<ByThreads>>,
    stages: ProductStages<ByThreads>,
) {
    let epilogue = Epilogue::new(bias, residual, alpha, beta, activation);
    stages.product_or(a, b, c, epilogue.value(), |index, sum, c| {
        epilogue.finish(index, sum, c);
    });
}

/// The same in tiles of 64 by 128.
#[kernel(block = 128, min_blocks = 2)]
pub fn product_threads_small(
    a: View<f32, 3>,
    b: View<f32, 3>,
    bias: View<f32, 3>,
    residual: View<f32, 3>,
    alpha: f32,
    beta: f32,
    activation: Activation,
    c: Disjoint<f32, Product<ByThreads<2, 128>>>,
    stages: ProductStages<ByThreads<2, 128>>,
) {
    let epilogue = Epilogue::new(bias, residual, alpha, beta, activation);
    stages.product_or(a, b, c, epilogue.value(), |index, sum, c| {
        epilogue.finish(index, sum, c);
    });
}
