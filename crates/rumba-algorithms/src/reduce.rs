//! Reductions by the library's operators. [`cuda_std::algorithms::reduce`] documents the arguments of a launch.

use bytemuck::Pod;
use cuda_std::algorithms::{And, Max, Min, Operator, Or, Product, REDUCE_BLOCK, Sum, Xor};
use cuda_std::prelude::*;

/// Combines all elements of `x`.
#[kernel((T, O, V) = [
    (u32, Sum, 4), (f32, Sum, 4), (u64, Sum, 2), (f64, Sum, 2),
    (u32, Product, 4), (f32, Product, 4), (u64, Product, 2), (f64, Product, 2),
    (u32, Min, 4), (i32, Min, 4), (f32, Min, 4), (u64, Min, 2), (i64, Min, 2), (f64, Min, 2),
    (u32, Max, 4), (i32, Max, 4), (f32, Max, 4), (u64, Max, 2), (i64, Max, 2), (f64, Max, 2),
    (u32, And, 4), (u64, And, 2), (u32, Or, 4), (u64, Or, 2), (u32, Xor, 4), (u64, Xor, 2),
], block = REDUCE_BLOCK)]
pub fn reduce<T: Pod, O: Operator<T>, const V: usize>(
    x: &[T],
    work: &[Atomic<u32>],
    result: &[Atomic<u32>],
    warps: Shared<(PerWarp<T>, PerWarp<u32>)>,
) {
    cuda_std::algorithms::reduce::<T, O, V>(x, work, result, warps);
}
