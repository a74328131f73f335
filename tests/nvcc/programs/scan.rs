//! Reference of `cuda/scan.cu`.

use anyhow::Result;

use crate::compare::equal;
use crate::{Gpu, args};

fn sums(values: &[i32]) -> Vec<i32> {
    let mut sum = 0_i32;
    values
        .iter()
        .map(|value| {
            sum = sum.wrapping_add(*value);
            sum
        })
        .collect()
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(3);
    for n in [1, 31, 33, 100, 256] {
        let values: Vec<i32> = (0..n).map(|_| random.i32(-1000..1000)).collect();
        for (kernel, threads, shared) in [("scan_doubling", 256, 2048), ("scan_sweeps", 128, 1024)] {
            let (from, to) = (gpu.buffer(&values)?, gpu.zeros::<i32>(n)?);
            gpu.launch(kernel, [1, 1, 1], [threads, 1, 1], shared, args![&from, &to, n as i32])?;
            equal(kernel, &gpu.read(&to)?, &sums(&values))?;
        }
    }
    for (n, threads) in [(1_usize, 32), (1000, 64), (4097, 128), (30_000, 256), (9999, 1024)] {
        let values: Vec<i32> = (0..n).map(|_| random.i32(..)).collect();
        let tiles = n.div_ceil(threads);
        let (from, to) = (gpu.buffer(&values)?, gpu.zeros::<i32>(n)?);
        let (ticket, words) = (gpu.zeros::<u32>(1)?, gpu.zeros::<u64>(tiles)?);
        let arguments = args![&from, &to, n as i32, &ticket, &words];
        gpu.launch("scan_look_back", [tiles as u32, 1, 1], [threads as u32, 1, 1], 0, arguments)?;
        equal("scan_look_back", &gpu.read(&to)?, &sums(&values))?;
    }
    Ok(())
}
