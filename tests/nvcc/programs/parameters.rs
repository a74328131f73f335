//! Reference of `cuda/parameters.cu`.

use anyhow::Result;

use super::random;
use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Arg, Gpu, args};

#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
struct Inner {
    tag: i8,
    weight: f64,
    values: [i16; 3],
}

#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
struct Float4([f32; 4]);

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Large {
    count: i32,
    inner: [Inner; 2],
    corner: Float4,
    /// Three bits of flags, five of a mode.
    packed: u8,
    bits: u32,
}

fn large() -> Large {
    Large {
        count: 1_000_000,
        inner: [
            Inner { tag: -3, weight: 2.75, values: [1, -2, 3] },
            Inner { tag: 100, weight: -9.5, values: [30_000, 7, -30_000] },
        ],
        corner: Float4([1.0, 2.0, -77.0, 4.0]),
        packed: 5 | 19 << 3,
        bits: 0xABCD_EF01,
    }
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    by_value(gpu)?;
    functors(gpu)?;
    variables(gpu)?;
    for n in [1, 20, 64] {
        let input: Vec<i32> = (0..n).map(|i| i * 7 % 13).collect();
        let out = gpu.zeros::<f64>(input.len())?;
        gpu.launch("carved", [1, 1, 1], [64, 1, 1], 64 * 13, args![gpu.buffer(&input)?, &out, n])?;
        let at = |i: usize| input.get(i).copied().unwrap_or(0);
        let sum = |i: usize| (0..=i).filter(|i| at(*i) % 2 == 0).map(|i| 0.5 * f64::from(at(i))).sum();
        let expected: Vec<f64> = (0..input.len()).map(|i| sum(63 - i)).collect();
        equal("carved", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}

fn by_value(gpu: &Gpu) -> Result<()> {
    let (large, threads) = (large(), 50);
    let out = gpu.zeros::<i64>(threads)?;
    let arguments = &[Arg::value(large), Arg::from(-4_i8), Arg::from(&out), Arg::from(-300_i16)];
    gpu.launch("by_value", [1, 1, 1], [threads as u32, 1, 1], 0, arguments)?;
    let expected: Vec<i64> = (0..threads)
        .map(|thread| {
            let inner = &large.inner[thread % 2];
            let whole = 1_000_000 - 4000 - 300 + i64::from(inner.tag) + (inner.weight * 4.0) as i64;
            whole + i64::from(inner.values[thread % 3]) - 77 + 5 * 7 + 19 * 11 + i64::from(large.bits >> 20)
        })
        .collect();
    equal("by_value", &gpu.read(&out)?, &expected)?;

    let n = 45;
    let out = gpu.zeros::<f64>(n)?;
    gpu.launch(
        "indexed_parameter",
        [1, 1, 1],
        [8, 1, 1],
        0,
        &[Arg::value(large), Arg::from(&out), Arg::from(n as i32)],
    )?;
    let mut expected = vec![0.0; n];
    for thread in 0..8 {
        let mut own = large;
        for i in (thread..n).step_by(8) {
            own.inner[i & 1].weight += i as f64;
            expected[i] = own.inner[i & 1].weight;
        }
    }
    equal("indexed_parameter", &gpu.read(&out)?, &expected)
}

fn functors(gpu: &Gpu) -> Result<()> {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Weighted(u64, i32);

    let (data, weights) = (random(35, 100), random(36, 7));
    let buffer = gpu.buffer(&data)?;
    let arguments = &[Arg::value([2.0_f32, 0.5]), Arg::from(&buffer), Arg::from(100_i32)];
    gpu.launch("_Z5applyI6AffineEvT_Pfi", blocks(100, 32), [32, 1, 1], 0, arguments)?;
    let on = gpu.buffer(&weights)?;
    let function = Weighted(on.as_device_ptr().as_raw(), 7);
    let arguments = &[Arg::value(function), Arg::from(&buffer), Arg::from(100_i32)];
    gpu.launch("_Z5applyI8WeightedEvT_Pfi", blocks(100, 32), [32, 1, 1], 0, arguments)?;
    let expected: Vec<f32> = data.iter().enumerate().map(|(at, x)| (2.0 * x + 0.5) * weights[at % 7]).collect();
    close("functors", &gpu.read(&buffer)?, &expected, 1e-6)
}

fn variables(gpu: &Gpu) -> Result<()> {
    let threads = 30;
    let out = gpu.zeros::<f64>(threads)?;
    gpu.launch("variables", [1, 1, 1], [threads as u32, 1, 1], 0, args![&out])?;
    let (primes, fractions) = ([2, 3, 5, 7, 11, 13, 0, 0], [0.5, 0.25, -0.125, 0.0]);
    let expected: Vec<f64> = (0..threads)
        .map(|t| {
            let whole = primes[t % 8] + i32::from(b"device\0"[t % 7]) + primes[2 + t % 4] + [1, 2, 3][t % 3];
            f64::from(whole) + fractions[t % 4] + 2.5
        })
        .collect();
    // The thread that overwrites `primes[7]` may do so before or after others of its warp read it.
    let found = gpu.read(&out)?;
    let settled = |values: &[f64]| (0..threads).filter(|t| t % 8 != 7).map(|t| values[t]).collect::<Vec<_>>();
    equal("variables", &settled(&found), &settled(&expected))?;
    equal("counter", &[gpu.variable::<u32>("counter")?], &[29 * 30 / 2])?;
    equal("primes", &[gpu.variable::<[i32; 8]>("primes")?], &[[2, 3, 5, 7, 11, 13, 0, 19]])
}
