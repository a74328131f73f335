//! Reference of `cuda/bits.cu`.

use anyhow::Result;

use crate::compare::equal;
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(32);
    let edges = [0, 1, u64::MAX, 1 << 63, i64::MAX as u64, 0x8000_0000, 0xFFFF_FFFF, 0x1234_5678_9ABC_DEF0];
    let mut pairs: Vec<[u64; 2]> = edges.iter().flat_map(|a| edges.map(|b| [*a, b])).collect();
    pairs.extend((0..300).map(|_| [random.u64(..) >> random.u32(0..64), random.u64(..) >> random.u32(0..64)]));
    let n = pairs.len();
    let out = gpu.zeros::<u64>(16 * n)?;
    gpu.launch("integers", blocks(n, 64), [64, 1, 1], 0, args![gpu.buffer(pairs.as_flattened())?, &out, n as i32])?;
    let expected: Vec<u64> = pairs.iter().flat_map(|[a, b]| integers(*a, *b)).collect();
    equal("integers", &gpu.read(&out)?, &expected)?;
    for threads in [1, 33, 64] {
        atomics(gpu, threads)?;
    }
    Ok(())
}

/// Sign-extended from 32 bits.
fn extended(value: u32) -> u64 {
    i64::from(value.cast_signed()).cast_unsigned()
}

fn integers(a: u64, b: u64) -> [u64; 16] {
    let (x, y) = (a as u32, b as u32);
    let first_set = if a == 0 { 0 } else { a.trailing_zeros() + 1 };
    let both = |high: u32, low: u32| (u64::from(high) << 32) | u64::from(low);
    let funnel_left = ((both(y, x) << 13) >> 32) as u32;
    let funnel_right = (both(y, x) >> (x & 63).min(32)) as u32;
    let bytes: Vec<u8> = [x.to_le_bytes(), y.to_le_bytes()].concat();
    let selector = (a >> 32) as u32;
    // Three bits of each digit count.
    let permuted = (0..4).map(|i| bytes[(selector >> (4 * i) & 7) as usize]);
    let permuted = permuted.enumerate().map(|(i, byte)| u32::from(byte) << (8 * i)).sum::<u32>();
    let signed_dot =
        (0..4).map(|i| i32::from(bytes[i].cast_signed()) * i32::from(bytes[4 + i].cast_signed())).sum::<i32>() + 7;
    let unsigned_dot = (0..4).map(|i| u32::from(bytes[i]) * u32::from(bytes[4 + i])).sum::<u32>() + 9;
    let wide = u128::from(a).wrapping_mul(u128::from(b)).wrapping_add(u128::from(b) << 64 | u128::from(a));
    let sums: [u8; 4] = std::array::from_fn(|i| bytes[i].wrapping_add(bytes[4 + i]));
    let differences: [u8; 4] = std::array::from_fn(|i| bytes[i].abs_diff(bytes[4 + i]));
    [
        extended(a.count_ones() + 100 * b.leading_zeros() + 10_000 * first_set),
        a.reverse_bits() ^ u64::from(y.reverse_bits()),
        both(funnel_right, funnel_left),
        ((u128::from(a) * u128::from(b)) >> 64) as u64,
        ((i128::from(a.cast_signed()) * i128::from(b.cast_signed())) >> 64) as u64,
        a.checked_div(b).unwrap_or(0),
        a.checked_rem(b).unwrap_or(0),
        if y == 0 { 0 } else { (i64::from(x.cast_signed()) / i64::from((y | 1).cast_signed())).cast_unsigned() },
        both(unsigned_dot, signed_dot.cast_unsigned()),
        u64::from(permuted),
        u64::from((i32::from(x as i16).cast_unsigned() % 1000).wrapping_add(u32::from(y as u8) / 3)),
        wide as u64,
        (wide >> 64) as u64,
        u64::from(
            (x.cast_signed().abs_diff(y.cast_signed()).wrapping_add(5)).wrapping_add(x.abs_diff(y).wrapping_add(6)),
        ),
        u64::from(u32::from_le_bytes(sums) ^ u32::from_le_bytes(differences)),
        ((a << (b & 63)).cast_signed() >> (a & 63)).cast_unsigned(),
    ]
}

fn atomics(gpu: &Gpu, threads: u32) -> Result<()> {
    const BLOCKS: u32 = 4;
    let all = || 0..(BLOCKS * threads) as i32;
    let mut start = vec![0_i32; 20];
    start[4] = -1;
    let (ints, uints) = (gpu.buffer(&start)?, gpu.zeros::<u32>(4)?);
    let (longs, floats, doubles) = (gpu.zeros::<u64>(4)?, gpu.zeros::<f32>(1)?, gpu.zeros::<f64>(2)?);
    let arguments = args![&ints, &uints, &longs, &floats, &doubles];
    gpu.launch("atomics", [BLOCKS, 1, 1], [threads, 1, 1], 0, arguments)?;
    let count = BLOCKS * threads;
    let mut expected = vec![0_i32; 20];
    expected[0] = all().sum();
    expected[1] = -expected[0];
    expected[2] = -50;
    expected[3] = count as i32 - 1;
    expected[4] = all().fold(-1, |bits, value| bits & !(1 << (value % 31)));
    expected[5] = all().fold(0, |bits, value| bits | 1 << (value % 31));
    expected[6] = all().fold(0, |bits, value| bits ^ value);
    (0..BLOCKS as usize).for_each(|block| expected[7 + block] = threads as i32);
    expected[15] = count as i32;
    expected[17] = if count > 5 { 77 } else { 0 };
    equal("ints", &gpu.read(&ints)?, &expected)?;
    let up = (0..count).fold(0, |old, _| if old >= 16 { 0 } else { old + 1 });
    let down = (0..count).fold(0, |old: u32, _| if old == 0 || old > 9 { 9 } else { old - 1 });
    let largest = (0..count).map(u32::wrapping_neg).max().unwrap_or(0);
    equal("uints", &gpu.read(&uints)?, &[up, down, largest])?;
    let last = u64::from(count - 1);
    let expected = [
        (0..u64::from(count)).map(|value| 1_u64 << (value % 40)).sum(),
        last << 33,
        (-(last.cast_signed()) << 33).cast_unsigned(),
        (0..u64::from(count)).fold(0, |bits, value| bits ^ (0x1_0000_0001 * value)),
    ];
    equal("longs", &gpu.read(&longs)?, &expected)?;
    equal("floats", &gpu.read(&floats)?, &[0.5 * count as f32])?;
    equal("doubles", &gpu.read(&doubles)?, &[0.25 * f64::from(count), last as f64])
}
