//! Reference of `cuda/warps.cu`.

use anyhow::Result;

use crate::compare::equal;
use crate::gpu::blocks;
use crate::{Gpu, args};

/// The lanes of a warp for which something holds.
fn ballot(warp: &[i32], holds: impl Fn(i32) -> bool) -> u32 {
    warp.iter().enumerate().map(|(lane, value)| u32::from(holds(*value)) << lane).sum()
}

fn votes(warp: &[i32]) -> Vec<u32> {
    let odd = ballot(warp, |value| value & 1 != 0);
    let any = u32::from(warp.contains(&7));
    let all = u32::from(warp.iter().all(|value| *value >= -1));
    let whole = warp.iter().all(|value| value >> 8 == warp[0] >> 8);
    let high = if whole { !0 ^ 1 } else { 0 };
    warp.iter()
        .enumerate()
        .flat_map(|(lane, value)| {
            let live = if value & 1 != 0 {
                odd & ballot(warp, |value| value & 2 != 0)
            } else {
                (!odd & ballot(warp, |value| value & 4 != 0)).count_ones()
            };
            let same = ballot(warp, |other| other & 3 == value & 3);
            [odd, any << 1 | all, same, high, live, 32 * (lane as u32 + 1)]
        })
        .collect()
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(31);
    for n in [5, 64, 200] {
        let values: Vec<i32> =
            (0..n).map(|at| if at < 32 { random.i32(0..256) } else { random.i32(-1..2000) }).collect();
        let grid = blocks(values.len(), 64);
        let mut padded = values.clone();
        padded.resize(grid[0] as usize * 64, -1);
        let out = gpu.zeros::<u32>(6 * padded.len())?;
        gpu.launch("votes", grid, [64, 1, 1], 0, args![gpu.buffer(&values)?, &out, n])?;
        equal("votes", &gpu.read(&out)?, &padded.chunks(32).flat_map(votes).collect::<Vec<_>>())?;

        let seeds: Vec<u32> = (0..n).map(|_| random.u32(1..100_000)).collect();
        let steps = gpu.zeros::<u32>(seeds.len())?;
        gpu.launch("collatz", grid, [64, 1, 1], 0, args![gpu.buffer(&seeds)?, &steps, n])?;
        let collatz = |seed: &u32| {
            let (mut x, mut count) = (u64::from(*seed), 0);
            while x > 1 {
                x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
                count += 1;
            }
            count
        };
        equal("collatz", &gpu.read(&steps)?, &seeds.iter().map(collatz).collect::<Vec<u32>>())?;
    }
    shuffles(gpu, &mut random)?;
    let keys: Vec<i32> = (0..96).map(|_| random.i32(..)).collect();
    let buffer = gpu.buffer(&keys)?;
    gpu.launch("odd_even", [3, 1, 1], [32, 1, 1], 0, args![&buffer])?;
    let mut sorted = keys;
    sorted.chunks_mut(32).for_each(<[i32]>::sort_unstable);
    equal("odd_even", &gpu.read(&buffer)?, &sorted)
}

fn shuffles(gpu: &Gpu, random: &mut fastrand::Rng) -> Result<()> {
    let values: Vec<i64> = (0..32).map(|_| random.i64(..)).collect();
    let out = gpu.zeros::<i64>(192)?;
    gpu.launch("shuffles", [1, 1, 1], [32, 1, 1], 0, args![gpu.buffer(&values)?, &out])?;
    let lanes = |pick: &dyn Fn(usize) -> i64| (0..32).map(pick).collect::<Vec<i64>>();
    let expected = [
        lanes(&|lane| values[lane * 5 % 32]),
        lanes(&|lane| values[if lane % 16 >= 3 { lane - 3 } else { lane }]),
        lanes(&|lane| values[if lane % 8 + 5 < 8 { lane + 5 } else { lane }]),
        lanes(&|lane| values[lane ^ 9]),
        lanes(&|lane| (values[lane / 4 * 4 + (lane ^ 1) % 4] as f64).to_bits().cast_signed()),
        lanes(&|lane| i64::from(values[31 - lane] as u16)),
    ]
    .concat();
    equal("shuffles", &gpu.read(&out)?, &expected)
}
