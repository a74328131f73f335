//! Split-k products, for few tiles with long sums: the terms are split into parts, the products of the parts are
//! computed as a batch, and their results in `f32` are added up, always in the same order. Compute capability 9.0.

use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::sync::launch_dependents;
use cuda_std::tensor::{
    Element, Multicast, Registers, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling,
    product_with,
};
use cuda_std::thread::index_1d;

use super::warp_group::{LARGE, Variant};
use super::{Activation, Epilogue, Output};

/// The products of parts, which are written to work memory, not to the result.
pub const PARTS: Variant = Variant { name: "product_parts", columns: 128, copies: false, ..LARGE };

/// [`PARTS`]: `c = a bᵀ` of 16 bits, written as `f32`. The bound of registers leaves room for blocks of [`total`], so
/// that these blocks are already resident when this kernel ends.
#[kernel(block = 384, max_registers = 120, cluster = 2, arch = ["sm_90a"], T = [f16, bf16])]
pub fn product_parts_nt<T: Element>(
    a: TensorMap<Swizzled<T, 128, 64>>,
    b: TensorMap<Swizzled<T, 64, 64>>,
    c: TensorOutput<Swizzled<f32, 16, 32>, Tiling<128, 128, 8, 2>>,
    stages: TensorPipeline<(Swizzled<T, 128, 64>, Multicast<Swizzled<T, 128, 64>>), 6, 2, 2>,
    staging: TensorStaging<Swizzled<f32, 16, 32>, 2>,
) {
    let registers = Registers::<40, 152>;
    product_with((a, b), stages, (c, staging), registers, |_, sum: f32| sum);
}

/// The sum of `count` numbers from index `at` on, `apart` numbers from each other.
#[inline(always)]
fn sum(parts: &[f32], count: u32, apart: usize, mut at: usize) -> f32 {
    let mut sum = 0.0;
    let mut next = || {
        let part = parts.get(at).copied().unwrap_or(0.0);
        at += apart;
        part
    };
    // Eight loads are in flight at a time: all are issued before the first addition. Beyond the last part a load gives
    // zero.
    for _ in 0..count.div_ceil(8) {
        let (a, b, c, d) = (next(), next(), next(), next());
        let (e, f, g, h) = (next(), next(), next(), next());
        sum = sum + a + b + c + d + e + f + g + h;
    }
    sum
}

/// `c =` the sum of the `count` parts, which lie one behind the other, each with the layout of `c`.
#[kernel(block = 256, min_blocks = 8, arch = "sm_90", dependent, U = [f16, bf16, f32])]
pub fn total<U: Output<f32>>(parts: &[f32], count: u32, mut c: DisjointSlice<U>) {
    launch_dependents();
    let (apart, at) = (c.len(), index_1d() as usize);
    if let Some(c) = c.own() {
        *c = U::of(sum(parts, count, apart, at));
    }
}

/// `c = f(the sum of the parts)`, of one matrix with any strides. The parts have rows of `pitch` numbers.
#[kernel(block = 256, arch = "sm_90", dependent, U = [f16, bf16, f32])]
pub fn total_and_more<U: Output<f32>>(
    parts: &[f32],
    count: u32,
    pitch: u32,
    bias: View<U, 3>,
    residual: View<U, 3>,
    alpha: f32,
    beta: f32,
    activation: Activation,
    mut c: Disjoint<U, Array<3>>,
) {
    launch_dependents();
    let epilogue = Epilogue::new(bias, residual, alpha, beta, activation);
    let ([_, rows, _], pitch) = (c.shape(), pitch as usize);
    c.each(|[batch, row, column], c| {
        let sum = sum(parts, count, rows * pitch, row * pitch + column);
        epilogue.finish([batch, row, column], sum, c);
    });
}
