//! Reference of `cuda/wavefront.cu`.

use anyhow::Result;

use super::random;
use crate::compare::{close, equal};
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for (columns, rows) in [(1, 1), (56, 4), (200, 11)] {
        pathfinder(gpu, columns, rows)?;
    }
    for size in [16, 48, 80] {
        needle(gpu, size)?;
    }
    for (width, height) in [(3, 4), (16, 16), (45, 23)] {
        hotspot(gpu, width, height)?;
    }
    Ok(())
}

fn pathfinder(gpu: &Gpu, columns: usize, rows: usize) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(22);
    let wall: Vec<i32> = (0..columns * rows).map(|_| random.i32(0..10)).collect();
    let mut expected = wall[..columns].to_vec();
    let wall_on = gpu.buffer(&wall)?;
    let (mut from, mut to) = (gpu.buffer(&expected)?, gpu.zeros::<i32>(columns)?);
    for row in 1..rows {
        expected = (0..columns)
            .map(|x| {
                let best = expected[x.saturating_sub(1)..(x + 2).min(columns)].iter().min();
                wall[row * columns + x] + best.copied().unwrap_or(0)
            })
            .collect();
    }
    for first in (1..rows).step_by(4) {
        let now = 4.min(rows - first) as i32;
        let grid = [columns.div_ceil(56) as u32, 1, 1];
        let arguments = args![&wall_on, &from, &to, columns as i32, first as i32, now];
        gpu.launch("pathfinder", grid, [64, 1, 1], 0, arguments)?;
        std::mem::swap(&mut from, &mut to);
    }
    equal("pathfinder", &gpu.read(&from)?, &expected)
}

fn needle(gpu: &Gpu, size: usize) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(23);
    let sequence = |random: &mut fastrand::Rng| (0..size).map(|_| random.i8(0..4)).collect::<Vec<i8>>();
    let (a, b) = (sequence(&mut random), sequence(&mut random));
    let (stride, penalty) = (size + 1, 2);
    let mut score = vec![0_i32; stride * stride];
    for i in 1..stride {
        score[i] = -penalty * i as i32;
        score[i * stride] = -penalty * i as i32;
    }
    let on = gpu.buffer(&score)?;
    let (a_on, b_on) = (gpu.buffer(&a)?, gpu.buffer(&b)?);
    let tiles = size / 16;
    for diagonal in 0..2 * tiles - 1 {
        let count = (diagonal + 1).min(2 * tiles - 1 - diagonal) as u32;
        let arguments = args![&a_on, &b_on, &on, size as i32, diagonal as i32, penalty];
        gpu.launch("needle", [count, 1, 1], [16, 1, 1], 0, arguments)?;
    }
    for y in 1..stride {
        for x in 1..stride {
            let matched = score[(y - 1) * stride + x - 1] + if a[y - 1] == b[x - 1] { 5 } else { -3 };
            let gap = score[(y - 1) * stride + x].max(score[y * stride + x - 1]) - penalty;
            score[y * stride + x] = matched.max(gap);
        }
    }
    equal("needle", &gpu.read(&on)?, &score)
}

fn hotspot(gpu: &Gpu, width: usize, height: usize) -> Result<()> {
    let (power, start) = (random(24, width * height), random(25, width * height));
    let power_on = gpu.buffer(&power)?;
    for steps in [1, 3] {
        let mut heat = start.clone();
        for _ in 0..steps {
            let at = |x: usize, y: usize| heat[y * width + x];
            heat = (0..width * height)
                .map(|i| {
                    let (x, y) = (i % width, i / width);
                    let flow = at(x.saturating_sub(1), y)
                        + at((x + 1).min(width - 1), y)
                        + at(x, y.saturating_sub(1))
                        + at(x, (y + 1).min(height - 1));
                    at(x, y) + 0.1 * (power[i] + flow - 4.0 * at(x, y))
                })
                .collect();
        }
        let out = gpu.zeros::<f32>(heat.len())?;
        let inner = 16 - 2 * steps;
        let grid = [width.div_ceil(inner) as u32, height.div_ceil(inner) as u32, 1];
        let arguments = args![&power_on, gpu.buffer(&start)?, &out, width as i32, height as i32, steps as i32];
        gpu.launch("hotspot", grid, [16, 16, 1], 0, arguments)?;
        close("hotspot", &gpu.read(&out)?, &heat, 1e-5)?;
    }
    Ok(())
}
