//! Reference of `cuda/pipeline.cu`.

use anyhow::Result;

use super::random;
use crate::compare::equal;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for tiles in [1, 2, 9] {
        let input = random(39, 256 * tiles);
        let expected: Vec<f32> = input
            .chunks(256)
            .flat_map(|tile| {
                (0..64).flat_map(|thread| {
                    let (a, b) = (&tile[4 * thread..][..4], &tile[4 * (63 - thread)..][..4]);
                    [a[0] + b[3], a[1] - b[2], a[2] * b[1], 2.0_f32.mul_add(b[0], a[3])]
                })
            })
            .collect();
        let out = gpu.zeros::<f32>(input.len())?;
        gpu.launch("pipelined", [1, 1, 1], [64, 1, 1], 0, args![gpu.buffer(&input)?, &out, tiles as i32])?;
        equal("pipelined", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}
