//! Reference of `cuda/debug.cu`.

use anyhow::Result;

use crate::compare::equal;
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for n in [1, 77] {
        let input: Vec<i32> = (0..n).map(|i| i * 3 - 50).collect();
        let out = gpu.zeros::<i32>(input.len())?;
        gpu.launch("unoptimised", blocks(input.len(), 32), [32, 1, 1], 0, args![gpu.buffer(&input)?, &out, n])?;
        let expected: Vec<i32> = input.iter().zip(0..).map(|(x, at)| 3 * (x + at) - 3 * x * at).collect();
        equal("unoptimised", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}
