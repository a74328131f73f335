//! Reference of `cuda/linear.cu`.

use anyhow::Result;

use super::random;
use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for n in [1_usize, 5, 37] {
        lu(gpu, n)?;
        cholesky(gpu, n)?;
        paths(gpu, n)?;
    }
    Ok(())
}

/// Factors multiplied again give the matrix.
fn lu(gpu: &Gpu, n: usize) -> Result<()> {
    let mut a: Vec<f64> = random(17, n * n).into_iter().map(f64::from).collect();
    (0..n).for_each(|i| a[i * n + i] += n as f64);
    let buffer = gpu.buffer(&a)?;
    for k in 0..n.saturating_sub(1) {
        let rest = n - k - 1;
        gpu.launch("lu_column", blocks(rest, 32), [32, 1, 1], 0, args![&buffer, n as i32, k as i32])?;
        let grid = [rest.div_ceil(8) as u32, rest.div_ceil(8) as u32, 1];
        gpu.launch("lu_update", grid, [8, 8, 1], 0, args![&buffer, n as i32, k as i32])?;
    }
    let factors = gpu.read(&buffer)?;
    let product: Vec<f64> = (0..n * n)
        .map(|at| {
            let (row, column) = (at / n, at % n);
            let lower = |i: usize| if i == row { 1.0 } else { factors[row * n + i] };
            (0..=row.min(column)).map(|i| lower(i) * factors[i * n + column]).sum()
        })
        .collect();
    close("LU", &product, &a, 1e-12)
}

fn cholesky(gpu: &Gpu, n: usize) -> Result<()> {
    let half = random(18, n * n);
    let a: Vec<f32> = (0..n * n)
        .map(|at| {
            let (row, column) = (at / n, at % n);
            let product: f32 = (0..n).map(|i| half[row * n + i] * half[column * n + i]).sum();
            product + if row == column { n as f32 } else { 0.0 }
        })
        .collect();
    let buffer = gpu.buffer(&a)?;
    gpu.launch("cholesky", [1, 1, 1], [48, 1, 1], 0, args![&buffer, n as i32])?;
    let lower = gpu.read(&buffer)?;
    let product: Vec<f32> =
        (0..n * n).map(|at| (0..n).map(|i| lower[at / n * n + i] * lower[at % n * n + i]).sum()).collect();
    close("Cholesky", &product, &a, 1e-4)
}

fn paths(gpu: &Gpu, n: usize) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(19);
    let mut distances: Vec<i32> =
        (0..n * n).map(|_| if random.u8(..) < 60 { random.i32(1..100) } else { i32::MAX }).collect();
    (0..n).for_each(|i| distances[i * n + i] = 0);
    let buffer = gpu.buffer(&distances)?;
    for via in 0..n {
        let grid = [n.div_ceil(32) as u32, n as u32, 1];
        gpu.launch("floyd_warshall", grid, [32, 1, 1], 0, args![&buffer, n as i32, via as i32])?;
        for from in 0..n {
            for to in 0..n {
                let through = distances[from * n + via].saturating_add(distances[via * n + to]);
                distances[from * n + to] = distances[from * n + to].min(through);
            }
        }
    }
    equal("paths", &gpu.read(&buffer)?, &distances)
}
