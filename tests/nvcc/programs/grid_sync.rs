//! Reference of `cuda/grid_sync.cu`.

use anyhow::Result;

use super::random;
use crate::compare::equal;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for (grid, n, steps) in [(1, 10, 1), (4, 1000, 6), (3, 2500, 5)] {
        let mut line = random(41, n as usize);
        let (a, b) = (gpu.buffer(&line)?, gpu.zeros::<f32>(line.len())?);
        gpu.launch_cooperatively("relax", [grid, 1, 1], [96, 1, 1], args![&a, &b, n, steps])?;
        for _ in 0..steps {
            let at = |i: usize| if i == 0 { 0.0 } else { line.get(i - 1).copied().unwrap_or(1.0) };
            line = (0..line.len()).map(|i| 0.5 * (at(i) + at(i + 2))).collect();
        }
        equal("relax", &gpu.read(if steps % 2 == 0 { &a } else { &b })?, &line)?;
    }
    Ok(())
}
