//! Reference of `cuda/nbody.cu`.

use anyhow::Result;

use super::random;
use crate::compare::close;
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for n in [1, 65, 300] {
        let step = 0.01_f32;
        let bodies = random(9, 4 * n);
        let velocities = random(10, 4 * n);
        let (mut moved, mut faster) = (bodies.clone(), velocities.clone());
        for (at, own) in bodies.chunks(4).enumerate() {
            let mut pull = [0.0_f64; 3];
            for other in bodies.chunks(4) {
                let d: Vec<f64> = (0..3).map(|i| f64::from(other[i]) - f64::from(own[i])).collect();
                let square = d.iter().map(|d| d * d).sum::<f64>() + 0.01;
                for i in 0..3 {
                    pull[i] += f64::from(other[3]) * d[i] / (square * square.sqrt());
                }
            }
            for i in 0..3 {
                faster[4 * at + i] += step * pull[i] as f32;
                moved[4 * at + i] += step * faster[4 * at + i];
            }
        }
        let (speed, to) = (gpu.buffer(&velocities)?, gpu.zeros::<f32>(4 * n)?);
        let arguments = args![gpu.buffer(&bodies)?, &speed, &to, n as i32, step];
        gpu.launch("nbody", blocks(n, 64), [64, 1, 1], 64 * 16, arguments)?;
        close("velocities", &gpu.read(&speed)?, &faster, 1e-4)?;
        close("bodies", &gpu.read(&to)?, &moved, 1e-5)?;
    }
    Ok(())
}
