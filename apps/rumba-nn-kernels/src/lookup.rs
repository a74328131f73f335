//! Rows for numbers: of a table, or made up of sines.

use crate::Real;
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;

/// `y[i] = table[ids[i]]`, row by row. The table has rows as long as those of `y`, and `ids` a number for each row.
///
/// Launch it with a thread for each column along x and each row along y; a smaller grid goes around several times. A number that has no row is a
/// panic.
#[kernel(T = [f32, f16, bf16])]
pub fn embedding<T: Real>(ids: &[u32], table: View<T, 2>, mut y: Disjoint<T, Array<2>>) {
    y.each(|[row, column], y| {
        let id = ids[row] as usize;
        let [rows, _] = table.shape();
        assert!(id < rows, "the table has no row of this number");
        if let Some(&x) = table.get([id, column]) {
            *y = x;
        }
    });
}

/// Each time as a row of cosines and then as many sines, whose wavelengths go from 2π to 2π · `longest` as a geometric series:
/// the positions of Vaswani et al. 2017, as diffusion models are given times.
///
/// Rows have an even number of columns. Launch it in one dimension, with blocks of
/// whole warps; a grid with fewer warps than rows goes around several times.
#[kernel(T = [f32, f16, bf16])]
pub fn timesteps<T: Real>(times: &[f32], longest: f32, mut y: Disjoint<T, Rows<ByWarp>>) {
    let half = y.columns() / 2;
    let step = -GpuFloat::ln(longest) / half as f32;
    y.each_row(|row, mut y| {
        let time = times[row];
        y.each(|column, y| {
            let is_cosine = column < half;
            let index = if is_cosine { column } else { column - half };
            let angle = time * GpuFloat::exp(step * index as f32);
            *y = T::of(if is_cosine { GpuFloat::cos(angle) } else { GpuFloat::sin(angle) });
        });
    });
}
