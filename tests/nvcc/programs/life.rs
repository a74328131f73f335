//! Reference of `cuda/life.cu`.

use anyhow::Result;

use super::random;
use crate::compare::equal;
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut generator = fastrand::Rng::with_seed(37);
    for (words, rows) in [(1, 3), (3, 20), (40, 5)] {
        let field: Vec<u64> = (0..words * rows).map(|_| generator.u64(..)).collect();
        let width = 64 * words;
        let cell = |x: usize, y: usize| field[y % rows * words + x % width / 64] >> (x % 64) & 1;
        let mut expected = vec![0_u64; field.len()];
        for at in 0..width * rows {
            let (x, y) = (at % width + width, at / width + rows);
            let around: u64 = (0..9).filter(|i| *i != 4).map(|i| cell(x + i % 3 - 1, y + i / 3 - 1)).sum();
            if around == 3 || (around == 2 && cell(x, y) == 1) {
                expected[at / width * words + at % width / 64] |= 1 << (at % 64);
            }
        }
        let out = gpu.zeros::<u64>(field.len())?;
        let grid = [words.div_ceil(32) as u32, rows as u32, 1];
        gpu.launch("life", grid, [32, 1, 1], 0, args![gpu.buffer(&field)?, &out, words as i32, rows as i32])?;
        equal("life", &gpu.read(&out)?, &expected)?;
    }
    for (n, window) in [(1, 3), (100, 15), (333, 7)] {
        let input = random(38, n);
        let expected: Vec<f32> = (0..n)
            .map(|at| {
                let mut values: Vec<f32> =
                    (0..window).map(|i| input[(at + i).saturating_sub(window / 2).min(n - 1)]).collect();
                values.sort_unstable_by(f32::total_cmp);
                values[window / 2]
            })
            .collect();
        let out = gpu.zeros::<f32>(n)?;
        let arguments = args![gpu.buffer(&input)?, &out, n as i32, window as i32];
        gpu.launch("median_filter", blocks(n, 64), [64, 1, 1], 0, arguments)?;
        equal("median_filter", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}
