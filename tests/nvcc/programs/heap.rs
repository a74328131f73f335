//! Reference of `cuda/heap.cu`.

use anyhow::Result;

use crate::compare::equal;
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for n in [1, 33, 400] {
        let lengths: Vec<i32> = (0..n).map(|i| i * 7 % 13).collect();
        let sums = gpu.zeros::<i64>(lengths.len())?;
        gpu.launch("lists", blocks(lengths.len(), 64), [64, 1, 1], 0, args![gpu.buffer(&lengths)?, &sums, n])?;
        let sum = |i: i32| (0..lengths[i as usize]).rev().fold(0, |sum, k| 3 * sum + i64::from(i * k + 1));
        equal("lists", &gpu.read(&sums)?, &(0..n).map(sum).collect::<Vec<_>>())?;
    }
    for (grid, length) in [(1_u32, 1_u32), (7, 100), (20, 333)] {
        let input: Vec<u32> = (0..grid * length).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let out = gpu.zeros::<u32>(input.len())?;
        let input_buffer = gpu.buffer(&input)?;
        gpu.launch("reversed", [grid, 1, 1], [96, 1, 1], 0, args![input_buffer, &out, length as i32])?;
        let part = |part: &[u32]| part.iter().rev().zip(0..).map(|(x, i)| x ^ i).collect::<Vec<u32>>();
        let expected: Vec<u32> = input.chunks(length as usize).flat_map(part).collect();
        equal("reversed", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}
