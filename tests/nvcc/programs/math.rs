//! Reference of `cuda/math.cu`: the host's functions of double precision.

use anyhow::Result;

use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Gpu, args};

/// The error function, integrated with Simpson's rule.
fn erf(x: f64) -> f64 {
    const STEPS: i32 = 2000;
    let width = x / f64::from(STEPS);
    let weight = |i: i32| if i == 0 || i == STEPS { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    let sum: f64 = (0..=STEPS).map(|i| weight(i) * (-(f64::from(i) * width).powi(2)).exp()).sum();
    sum * width / 3.0 * std::f64::consts::FRAC_2_SQRT_PI
}

fn functions(v: f64, p: f64) -> [f64; 20] {
    [
        v.sin(),
        v.cos(),
        v.tan(),
        (v * 0.5).exp(),
        p.ln(),
        p.powf(1.7),
        p.sqrt(),
        v.cbrt(),
        v.atan(),
        v.atan2(p),
        (v / 8.0).sinh(),
        v.tanh(),
        p.log2(),
        v.exp2(),
        erf(v),
        v % p,
        v.floor(),
        v.round_ties_even(),
        v.hypot(p),
        p.ln_1p(),
    ]
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(33);
    let mut x: Vec<f64> = vec![0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, -1e-300, std::f64::consts::FRAC_PI_2, 2.5, -3.5];
    x.extend((0..400).map(|_| random.f64() * 9.0 - 4.5));
    let n = x.len();
    let out = gpu.zeros::<f64>(20 * n)?;
    gpu.launch("functions64", blocks(n, 64), [64, 1, 1], 0, args![gpu.buffer(&x)?, &out, n as i32])?;
    let expected: Vec<f64> = x.iter().flat_map(|v| functions(*v, v.abs() + 0.125)).collect();
    let large = |value: &f64| value.abs() > 1e10;
    let tame = |values: &[f64]| values.iter().map(|v| if large(v) { v.signum() } else { *v }).collect::<Vec<_>>();
    close("functions64", &tame(&gpu.read(&out)?), &tame(&expected), 5e-13)?;

    let single: Vec<f32> = x.iter().map(|v| *v as f32).collect();
    let out = gpu.zeros::<f32>(20 * n)?;
    gpu.launch("functions32", blocks(n, 64), [64, 1, 1], 0, args![gpu.buffer(&single)?, &out, n as i32])?;
    let expected: Vec<f64> = single.iter().flat_map(|v| functions(f64::from(*v), f64::from(v.abs() + 0.125))).collect();
    let found: Vec<f64> = gpu.read(&out)?.into_iter().map(f64::from).collect();
    // tan near a pole and fmod near a multiple amplify the rounding of their argument.
    let judged = |index: usize| index % 20 != 2 || expected[index].abs() < 1e4;
    let pick = |values: &[f64]| (0..values.len()).filter(|i| judged(*i)).map(|i| values[i]).collect::<Vec<_>>();
    close("functions32", &pick(&found), &pick(&expected), 1e-5)?;
    conversions(gpu)
}

fn conversions(gpu: &Gpu) -> Result<()> {
    let mut x =
        vec![0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e10, -1e10, 1e300, -1e300, f64::INFINITY, 16_777_217.0, 0.1];
    let mut random = fastrand::Rng::with_seed(34);
    x.extend((0..100).map(|_| (random.f64() - 0.5) * 1e6));
    let n = x.len();
    let out = gpu.zeros::<i64>(8 * n)?;
    gpu.launch("conversions", blocks(n, 64), [64, 1, 1], 0, args![gpu.buffer(&x)?, &out, n as i32])?;
    let toward_zero = |v: f64| {
        let single = v as f32;
        if f64::from(single).abs() > v.abs() { f32::from_bits(single.to_bits() - 1) } else { single }
    };
    let downward = |integer: i64| {
        let value = integer as f64;
        if value as i128 > i128::from(integer) { value.next_down() } else { value }
    };
    let expected: Vec<i64> = x
        .iter()
        .flat_map(|&v| {
            [
                i64::from(v as i32),
                v.ceil() as i64,
                i64::from((v as f32).round_ties_even() as i32),
                i64::from((v.floor() as u32).cast_signed() as u32),
                i64::from(toward_zero(v).to_bits().cast_signed()),
                downward((v as i64).wrapping_mul(1_234_567_891)).to_bits().cast_signed(),
                i64::from(v as i32 as i16),
                i64::from(v.is_nan()) + 2 * i64::from(v.is_infinite()) + 4 * i64::from(v.is_sign_negative()),
            ]
        })
        .collect();
    equal("conversions", &gpu.read(&out)?, &expected)
}
