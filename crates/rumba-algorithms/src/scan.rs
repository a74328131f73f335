//! Scans by the library's operators. [`cuda_std::algorithms::scan`] documents the arguments of a launch.

use bytemuck::Pod;
use cuda_std::algorithms::{
    And, Max, Min, Operator, Or, Product, SCAN_BLOCK, SCAN_ROWS, SCAN_TILE, SCAN_WARPS, ScanOutput, Sum, Xor,
};
use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// Combines each element of `x` with all before it.
#[kernel((T, O, V) = [
    (u32, Sum, 4), (f32, Sum, 4), (u64, Sum, 2), (f64, Sum, 2),
    (u32, Product, 4), (f32, Product, 4), (u64, Product, 2), (f64, Product, 2),
    (u32, Min, 4), (i32, Min, 4), (f32, Min, 4), (u64, Min, 2), (i64, Min, 2), (f64, Min, 2),
    (u32, Max, 4), (i32, Max, 4), (f32, Max, 4), (u64, Max, 2), (i64, Max, 2), (f64, Max, 2),
    (u32, And, 4), (u64, And, 2), (u32, Or, 4), (u64, Or, 2), (u32, Xor, 4), (u64, Xor, 2),
], block = SCAN_BLOCK)]
pub fn scan<T: Pod, O: Operator<T>, const V: usize>(
    x: &[T],
    initial: T,
    is_exclusive: u32,
    y: ScanOutput<T, V>,
    published: &[Atomic<u64>],
    held: Shared<Tile<Vector4<u32>, SCAN_TILE>>,
    rows: Shared<PerWarp<[T; SCAN_ROWS], SCAN_WARPS>>,
    before: Shared<Table<T, 1>>,
) where
    [T; V]: Pod,
{
    cuda_std::algorithms::scan::<T, O, V>(x, initial, is_exclusive != 0, y, published, held, rows, before);
}
