//! Reference of `cuda/reduce.cu`.

use anyhow::Result;

use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Arg, Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(8);
    for n in [1_usize, 31, 200, 1777, 20_000] {
        let floats: Vec<f32> = (0..n).map(|_| random.f32() - 0.25).collect();
        let out = gpu.zeros::<f32>(5)?;
        let arguments = args![gpu.buffer(&floats)?, &out, n as i32, 0.0_f32];
        gpu.launch("_Z4treeIf3SumLi128EEvPKT_PS1_iS1_", [5, 1, 1], [128, 1, 1], 0, arguments)?;
        let sum: f64 = floats.iter().map(|value| f64::from(*value)).sum();
        let found: f64 = gpu.read(&out)?.iter().map(|value| f64::from(*value)).sum();
        close("sum in a tree", &[found], &[sum], 1e-5)?;

        let doubles: Vec<f64> = (0..n).map(|_| random.f64() * 9.0 - 10.0).collect();
        let largest = doubles.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let out = gpu.zeros::<f64>(1)?;
        let arguments = args![gpu.buffer(&doubles)?, &out, n as i32, f64::NEG_INFINITY];
        gpu.launch("_Z4treeId7LargestLi64EEvPKT_PS1_iS1_", [1, 1, 1], [64, 1, 1], 0, arguments)?;
        equal("largest in a tree", &gpu.read(&out)?, &[largest])?;

        let shorts: Vec<i16> = (0..n).map(|_| random.i16(..)).collect();
        let out = gpu.zeros::<i16>(1)?;
        let arguments = args![gpu.buffer(&shorts)?, &out, n as i32, i16::MIN];
        gpu.launch("_Z4treeIs7LargestLi256EEvPKT_PS1_iS1_", [1, 1, 1], [256, 1, 1], 0, arguments)?;
        equal("largest of shorts", &gpu.read(&out)?, &[shorts.iter().copied().max().unwrap_or(0)])?;

        let out = gpu.zeros::<f64>(1)?;
        let arguments = args![gpu.buffer(&doubles)?, &out, n as i32];
        gpu.launch("shuffled", [2, 1, 1], [96, 1, 1], 0, arguments)?;
        close("shuffled", &gpu.read(&out)?, &[doubles.iter().sum::<f64>()], 1e-12)?;

        integers(gpu, n, &mut random)?;
    }
    Ok(())
}

fn integers(gpu: &Gpu, n: usize, random: &mut fastrand::Rng) -> Result<()> {
    let values: Vec<i32> = (0..n).map(|_| random.i32(-100_000..100_000)).collect();
    let (grid, buffer) = (blocks(n, 64), gpu.buffer(&values)?);
    let mut padded = values.clone();
    padded.resize(grid[0] as usize * 64, 0);

    let out = gpu.zeros::<i32>(padded.len() / 8 * 3)?;
    gpu.launch("tiles", grid, [64, 1, 1], 0, args![&buffer, &out, n as i32])?;
    let expected: Vec<i32> = padded
        .chunks(8)
        .flat_map(|tile| {
            // Lane 0 gathers, by halves, what the lanes above it had.
            let combined = tile.iter().fold(0, |all, value| all ^ value);
            [tile.iter().sum(), tile.iter().copied().max().unwrap_or(0), combined]
        })
        .collect();
    equal("tiles", &gpu.read(&out)?, &expected)?;

    let counter = gpu.zeros::<i32>(1)?;
    gpu.launch("coalesced_count", grid, [64, 1, 1], 0, args![&buffer, &counter, n as i32])?;
    let multiples = values.iter().filter(|value| **value % 3 == 0).count() as i32;
    equal("coalesced_count", &gpu.read(&counter)?, &[multiples])?;

    let out = gpu.zeros::<u32>(padded.len() / 32 * 7)?;
    gpu.launch("instructions", grid, [64, 1, 1], 0, &[Arg::from(&buffer), Arg::from(&out), Arg::from(n as i32)])?;
    let expected: Vec<u32> = padded
        .chunks(32)
        .flat_map(|warp| {
            let words = || warp.iter().map(|value| value.cast_unsigned());
            [
                words().fold(0, u32::wrapping_add),
                words().min().unwrap_or(0),
                words().max().unwrap_or(0),
                words().fold(!0, |a, b| a & b),
                words().fold(0, |a, b| a | b),
                words().fold(0, |a, b| a ^ b),
                warp.iter().copied().min().unwrap_or(0).cast_unsigned(),
            ]
        })
        .collect();
    equal("instructions", &gpu.read(&out)?, &expected)
}
