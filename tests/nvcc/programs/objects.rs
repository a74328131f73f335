//! Reference of `cuda/objects.cu`.

use anyhow::Result;

use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for n in [1_usize, 50, 333] {
        let mut random = fastrand::Rng::with_seed(30);
        let sizes: Vec<f32> = (0..n).map(|_| random.f32() + 0.5).collect();
        let (shapes, storage) = (gpu.zeros::<u64>(n)?, gpu.zeros::<u64>(4 * n)?);
        let arguments = args![&shapes, &storage, gpu.buffer(&sizes)?, n as i32];
        gpu.launch("construct", blocks(n, 64), [64, 1, 1], 0, arguments)?;
        let out = gpu.zeros::<f32>(n)?;
        gpu.launch("measure", blocks(n, 64), [64, 1, 1], 0, args![&shapes, &out, n as i32])?;
        let expected: Vec<f32> = sizes
            .iter()
            .enumerate()
            .map(|(at, size)| if at % 3 == 0 { 4.0 * std::f32::consts::PI * size * size } else { 10.0 * size * 2.0 })
            .collect();
        close("measure", &gpu.read(&out)?, &expected, 1e-6)?;
        indirect(gpu, n, &mut random)?;
        let values: Vec<i32> = (0..n).map(|_| random.i32(..)).collect();
        let out = gpu.zeros::<i32>(n)?;
        gpu.launch("switches", blocks(n, 64), [64, 1, 1], 0, args![gpu.buffer(&values)?, &out, n as i32])?;
        let expected: Vec<i32> = values.iter().enumerate().map(|(at, x)| quick(*x, at as i32 % 11)).collect();
        equal("switches", &gpu.read(&out)?, &expected)?;
    }
    recursion(gpu)
}

fn indirect(gpu: &Gpu, n: usize, random: &mut fastrand::Rng) -> Result<()> {
    let which: Vec<i32> = (0..n).map(|_| random.i32(0..4)).collect();
    let (a, b): (Vec<i32>, Vec<i32>) = (0..n).map(|_| (random.i32(-9..9), random.i32(0..9))).unzip();
    let expected: Vec<i32> = (0..n)
        .map(|i| match which[i] {
            0 => a[i] + b[i],
            1 => a[i] - b[i],
            2 => a[i] * b[i],
            _ => a[i].wrapping_pow(b[i] as u32),
        })
        .collect();
    let out = gpu.zeros::<i32>(n)?;
    let arguments = args![gpu.buffer(&which)?, gpu.buffer(&a)?, gpu.buffer(&b)?, &out, n as i32];
    gpu.launch("indirect", blocks(n, 64), [64, 1, 1], 0, arguments)?;
    equal("indirect", &gpu.read(&out)?, &expected)
}

fn quick(x: i32, kind: i32) -> i32 {
    match kind {
        0 => x.wrapping_add(1),
        1 => x.wrapping_mul(x),
        2 => x.wrapping_neg(),
        3 => x >> 3,
        4 => x.count_ones() as i32,
        5 => x ^ 0x5a5a,
        6 => x % 17,
        9 => x / 5,
        other => other,
    }
}

fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

fn hanoi(discs: i32, from: usize, to: usize, moves: &mut [i32]) {
    if discs > 0 {
        hanoi(discs - 1, from, 3 - from - to, moves);
        moves[from * 3 + to] += 1;
        hanoi(discs - 1, 3 - from - to, to, moves);
    }
}

fn recursion(gpu: &Gpu) -> Result<()> {
    let threads = 40;
    let (results, moves) = (gpu.zeros::<u32>(threads)?, gpu.zeros::<i32>(9 * threads)?);
    gpu.launch("recursive", [1, 1, 1], [threads as u32, 1, 1], 0, args![&results, &moves])?;
    let expected: Vec<u32> = (0..threads as u32).map(|t| ackermann(t % 3, t % 7)).collect();
    equal("ackermann", &gpu.read(&results)?, &expected)?;
    let mut expected = vec![0; 9 * threads];
    for (thread, own) in expected.chunks_mut(9).enumerate() {
        hanoi(thread as i32 % 6, 0, 2, own);
    }
    equal("hanoi", &gpu.read(&moves)?, &expected)
}
