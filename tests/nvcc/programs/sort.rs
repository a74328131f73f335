//! Reference of `cuda/sort.cu`.

use anyhow::Result;

use crate::compare::equal;
use crate::gpu::blocks;
use crate::{Gpu, args};

const THREADS: u32 = 256;

fn radix(gpu: &Gpu, keys: &[u32]) -> Result<Vec<u32>> {
    let grid = blocks(keys.len(), THREADS);
    let counters = 16 * grid[0] as usize;
    let (mut from, mut to) = (gpu.buffer(keys)?, gpu.zeros::<u32>(keys.len())?);
    let counts = gpu.zeros::<u32>(counters)?;
    let n = keys.len() as i32;
    for shift in (0..32).step_by(4) {
        gpu.launch("radix_count", grid, [THREADS, 1, 1], 0, args![&from, n, shift, &counts])?;
        gpu.launch("radix_offsets", [1, 1, 1], [32, 1, 1], 0, args![&counts, counters as i32])?;
        gpu.launch("radix_scatter", grid, [THREADS, 1, 1], 0, args![&from, &to, n, shift, &counts])?;
        std::mem::swap(&mut from, &mut to);
    }
    gpu.read(&from)
}

fn bitonic(gpu: &Gpu, keys: &[f32]) -> Result<Vec<f32>> {
    let padded = keys.len().next_power_of_two().max(512);
    let mut values = keys.to_vec();
    values.resize(padded, f32::INFINITY);
    let buffer = gpu.buffer(&values)?;
    gpu.launch("bitonic_block", [(padded / 512) as u32, 1, 1], [THREADS, 1, 1], 0, args![&buffer])?;
    let mut size = 1024;
    while size <= padded {
        let mut stride = size / 2;
        while stride > 0 {
            let grid = [(padded / 512) as u32, 1, 1];
            gpu.launch("bitonic_step", grid, [THREADS, 1, 1], 0, args![&buffer, size as u32, stride as u32])?;
            stride /= 2;
        }
        size *= 2;
    }
    let mut sorted = gpu.read(&buffer)?;
    sorted.truncate(keys.len());
    Ok(sorted)
}

fn merge(gpu: &Gpu, keys: &[i64]) -> Result<Vec<i64>> {
    let (mut from, mut to) = (gpu.buffer(keys)?, gpu.zeros::<i64>(keys.len())?);
    let mut run = 1;
    while run < keys.len() {
        let arguments = args![&from, &to, keys.len() as i32, run as i32];
        gpu.launch("merge_runs", blocks(keys.len(), 96), [96, 1, 1], 0, arguments)?;
        std::mem::swap(&mut from, &mut to);
        run *= 2;
    }
    gpu.read(&from)
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(4);
    for n in [1, 33, 500, 3001] {
        let keys: Vec<u32> = (0..n).map(|_| random.u32(..)).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        equal("radix sort", &radix(gpu, &keys)?, &sorted)?;

        let keys: Vec<f32> = keys.iter().map(|key| f32::from(*key as u16) - 3e4).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        equal("bitonic sort", &bitonic(gpu, &keys)?, &sorted)?;

        let keys: Vec<i64> = (0..n).map(|_| random.i64(-200..200) << 33).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        equal("merge sort", &merge(gpu, &keys)?, &sorted)?;
    }
    Ok(())
}
