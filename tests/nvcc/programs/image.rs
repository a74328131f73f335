//! Reference of `cuda/image.cu`.

use anyhow::Result;

use super::random;
use crate::compare::{close, equal};
use crate::{Gpu, args};

const WEIGHTS: [f32; 9] = [0.01, 0.05, 0.1, 0.2, 0.28, 0.2, 0.1, 0.05, 0.01];

fn convolve(input: &[f32], width: usize, height: usize, rows: bool) -> Vec<f32> {
    let clamp = |at: usize, shift: usize, end: usize| (at + shift).saturating_sub(4).min(end - 1);
    (0..width * height)
        .map(|at| {
            let (x, y) = (at % width, at / width);
            WEIGHTS
                .iter()
                .enumerate()
                .map(|(i, weight)| {
                    let (x, y) = if rows { (clamp(x, i, width), y) } else { (x, clamp(y, i, height)) };
                    weight * input[y * width + x]
                })
                .sum()
        })
        .collect()
}

fn escape(cr: f64, ci: f64, limit: u16) -> u16 {
    let (mut zr, mut zi) = (0.0_f64, 0.0_f64);
    for count in 0..limit {
        let (rr, ii) = (zr * zr, zi * zi);
        if rr + ii > 4.0 {
            return count;
        }
        zi = (zr + zr) * zi + ci;
        zr = rr - ii + cr;
    }
    limit
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    gpu.set_variable("weights", &WEIGHTS)?;
    for (width, height) in [(1, 1), (32, 32), (33, 70), (100, 5)] {
        let [w, h] = [width as i32, height as i32];
        let input: Vec<u16> = (0..width * height).map(|at| at as u16).collect();
        let expected: Vec<u16> = (0..width * height).map(|at| input[at % height * width + at / height]).collect();
        let out = gpu.zeros::<u16>(input.len())?;
        let grid = [width.div_ceil(32) as u32, height.div_ceil(32) as u32, 1];
        gpu.launch("transpose", grid, [32, 8, 1], 0, args![gpu.buffer(&input)?, &out, w, h])?;
        equal("transpose", &gpu.read(&out)?, &expected)?;

        let input = random(16, width * height);
        let grid = [width.div_ceil(16) as u32, height.div_ceil(4) as u32, 1];
        for (kernel, rows) in [("convolve_rows", true), ("convolve_columns", false)] {
            let out = gpu.zeros::<f32>(input.len())?;
            gpu.launch(kernel, grid, [16, 4, 1], 0, args![gpu.buffer(&input)?, &out, w, h])?;
            close(kernel, &gpu.read(&out)?, &convolve(&input, width, height, rows), 1e-6)?;
        }

        let (pixels, counts) = (gpu.zeros::<u32>(width * height)?, gpu.zeros::<u16>(width * height)?);
        let arguments = args![&pixels, &counts, w, h, -2.0, -1.25, 0.03, 300];
        gpu.launch("mandelbrot", grid, [16, 4, 1], 0, arguments)?;
        let expected: Vec<u16> = (0..width * height)
            .map(|at| escape(-2.0 + 0.03 * (at % width) as f64, -1.25 + 0.03 * (at / width) as f64, 300))
            .collect();
        equal("counts", &gpu.read(&counts)?, &expected)?;
        let colour =
            |count: &u16| u32::from_le_bytes([*count as u8, (count >> 8) as u8, count.wrapping_mul(7) as u8, 255]);
        equal("pixels", &gpu.read(&pixels)?, &expected.iter().map(colour).collect::<Vec<_>>())?;
    }
    Ok(())
}
