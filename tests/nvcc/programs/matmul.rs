//! Reference of `cuda/matmul.cu`.

use anyhow::Result;
use half::f16;

use super::random;
use crate::compare::close;
use crate::{Gpu, args};

fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for row in 0..m {
        for column in 0..n {
            c[row * n + column] = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column])).sum();
        }
    }
    c
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for size in [[1, 1, 1], [16, 16, 16], [33, 50, 21], [5, 70, 100]] {
        let [m, n, k] = size;
        let (a, b) = (random(12, m * k), random(13, k * n));
        let expected = product(&a, &b, size);
        let single: Vec<f32> = expected.iter().map(|value| *value as f32).collect();
        let (a_on, b_on) = (gpu.buffer(&a)?, gpu.buffer(&b)?);
        for (kernel, tile, block) in [("matmul_tiled", 16, [16, 16, 1]), ("matmul_blocked", 32, [64, 1, 1])] {
            let c = gpu.zeros::<f32>(m * n)?;
            let grid = [n.div_ceil(tile) as u32, m.div_ceil(tile) as u32, 1];
            gpu.launch(kernel, grid, block, 0, args![&a_on, &b_on, &c, m as i32, n as i32, k as i32])?;
            close(kernel, &gpu.read(&c)?, &single, 1e-5)?;
        }
        let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
        let c = gpu.zeros::<f64>(m * n)?;
        let grid = [n.div_ceil(8) as u32, m.div_ceil(8) as u32, 1];
        let arguments = args![gpu.buffer(&wide(&a))?, gpu.buffer(&wide(&b))?, &c, m as i32, n as i32, k as i32];
        gpu.launch("matmul_tiled_f64", grid, [8, 8, 1], 0, arguments)?;
        close("matmul_tiled_f64", &gpu.read(&c)?, &expected, 1e-13)?;
        halves(gpu, m, n, k)?;
    }
    Ok(())
}

fn halves(gpu: &Gpu, m: usize, n: usize, pairs: usize) -> Result<()> {
    let narrow = |values: Vec<f32>| values.into_iter().map(|value| f16::from_f32(value - 0.5)).collect::<Vec<_>>();
    let (a, b) = (narrow(random(14, 2 * m * pairs)), narrow(random(15, 2 * n * pairs)));
    let expected: Vec<f32> = (0..m * n)
        .map(|at| {
            let row = &a[at / n * 2 * pairs..][..2 * pairs];
            let column = &b[at % n * 2 * pairs..][..2 * pairs];
            let sum: f32 = row.iter().zip(column).map(|(x, y)| x.to_f32() * y.to_f32()).sum();
            if sum > 0.0 { sum } else { sum.exp() }
        })
        .collect();
    let bits = |values: &[f16]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let c = gpu.zeros::<u16>(m * n)?;
    let grid = [n.div_ceil(16) as u32, m.div_ceil(4) as u32, 1];
    let arguments = args![gpu.buffer(&bits(&a))?, gpu.buffer(&bits(&b))?, &c, m as i32, n as i32, pairs as i32];
    gpu.launch("matmul_half", grid, [16, 4, 1], 0, arguments)?;
    let found: Vec<f32> = gpu.read(&c)?.into_iter().map(|value| f16::from_bits(value).to_f32()).collect();
    // A sum near 0 may fall on either side of it, where the result jumps from 0 to 1.
    let near: Vec<f32> = found
        .iter()
        .zip(&expected)
        .map(
            |(found, expected)| {
                if (found - expected).abs() > 0.9 && found.min(*expected) < 0.02 { *found } else { *expected }
            },
        )
        .collect();
    close("matmul_half", &found, &near, 0.02)
}
