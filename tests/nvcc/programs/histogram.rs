//! Reference of `cuda/histogram.cu`.

use anyhow::Result;

use super::random;
use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut generator = fastrand::Rng::with_seed(5);
    for words in [1, 7, 250, 5003] {
        let data: Vec<u8> = (0..4 * words).map(|_| generator.u8(..) & generator.u8(..)).collect();
        let mut expected = vec![0_u32; 256];
        for byte in &data {
            expected[usize::from(*byte)] += 1;
        }
        let buffer = gpu.buffer(&data)?;
        let bins = gpu.zeros::<u32>(256)?;
        gpu.launch("histogram_global", [3, 1, 1], [96, 1, 1], 0, args![&buffer, data.len() as i64, &bins])?;
        equal("histogram_global", &gpu.read(&bins)?, &expected)?;
        let bins = gpu.zeros::<u32>(256)?;
        gpu.launch("histogram_shared", [4, 1, 1], [128, 1, 1], 0, args![&buffer, words as i32, &bins])?;
        equal("histogram_shared", &gpu.read(&bins)?, &expected)?;

        let (x, weights) = (random(6, words), random(7, words));
        let mut expected = vec![0.0_f64; 10];
        for (x, weight) in x.iter().zip(&weights) {
            let bin = ((x - 0.125) / 0.0625).floor() as i32;
            if let Some(bin) = usize::try_from(bin).ok().and_then(|bin| expected.get_mut(bin)) {
                *bin += f64::from(*weight);
            }
        }
        let bins = gpu.zeros::<f64>(10)?;
        let arguments = args![gpu.buffer(&x)?, gpu.buffer(&weights)?, words as i32, 0.125_f32, 0.0625_f32, 10, &bins];
        gpu.launch("histogram_weighted", blocks(words, 64), [64, 1, 1], 0, arguments)?;
        close("histogram_weighted", &gpu.read(&bins)?, &expected, 1e-12)?;
    }
    Ok(())
}
