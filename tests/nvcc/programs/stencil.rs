//! Reference of `cuda/stencil.cu`.

use anyhow::Result;

use super::random;
use crate::compare::close;
use crate::{Gpu, args};

fn jacobi(input: &[f32], width: usize, height: usize) -> Vec<f32> {
    let mut out = input.to_vec();
    for y in 1..height.saturating_sub(1) {
        for x in 1..width - 1 {
            let at = y * width + x;
            out[at] = 0.2 * (input[at] + input[at - 1] + input[at + 1] + input[at - width] + input[at + width]);
        }
    }
    out
}

fn heat(input: &[f64], [nx, ny, nz]: [usize; 3], k: f64) -> Vec<f64> {
    let mut out = vec![0.0; input.len()];
    let plane = nx * ny;
    for z in 1..nz - 1 {
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                let at = z * plane + y * nx + x;
                let around = input[at - 1]
                    + input[at + 1]
                    + input[at - nx]
                    + input[at + nx]
                    + input[at - plane]
                    + input[at + plane];
                out[at] = input[at] + k * (around - 6.0 * input[at]);
            }
        }
    }
    out
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for (width, height) in [(1, 1), (2, 5), (16, 8), (17, 9), (67, 45), (100, 3)] {
        let input = random(1, width * height);
        let expected = jacobi(&input, width, height);
        for kernel in ["jacobi2d", "jacobi2d_tiled"] {
            let (from, to) = (gpu.buffer(&input)?, gpu.zeros::<f32>(input.len())?);
            let grid = [width.div_ceil(16) as u32, height.div_ceil(8) as u32, 1];
            gpu.launch(kernel, grid, [16, 8, 1], 0, args![&from, &to, width as i32, height as i32])?;
            close(kernel, &gpu.read(&to)?, &expected, 1e-6)?;
        }
    }
    for size in [[3, 3, 3], [11, 7, 5], [33, 18, 9]] {
        let input: Vec<f64> = random(2, size.iter().product()).into_iter().map(f64::from).collect();
        let (from, to) = (gpu.buffer(&input)?, gpu.zeros::<f64>(input.len())?);
        let grid = [size[0].div_ceil(8) as u32, size[1].div_ceil(4) as u32, 1];
        let [nx, ny, nz] = size.map(|n| n as i32);
        gpu.launch("heat3d", grid, [8, 4, 1], 0, args![&from, &to, nx, ny, nz, 0.05])?;
        close("heat3d", &gpu.read(&to)?, &heat(&input, size, 0.05), 1e-13)?;
    }
    Ok(())
}
