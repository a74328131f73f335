//! Reference of `cuda/finance.cu`.

use anyhow::Result;

use super::random;
use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    black_scholes(gpu)?;
    philox_words(gpu)?;
    monte_carlo(gpu)?;
    fast_math(gpu)
}

/// The normal distribution, integrated with Simpson's rule.
fn normal_cdf(x: f64) -> f64 {
    let (steps, end) = (400, x.abs().min(9.0));
    let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
    let width = end / f64::from(steps);
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    let area: f64 = (0..=steps).map(|i| weight(i) * density(f64::from(i) * width)).sum::<f64>() * width / 3.0;
    if x < 0.0 { 0.5 - area } else { 0.5 + area }
}

fn black_scholes(gpu: &Gpu) -> Result<()> {
    let (rate, volatility) = (0.02_f32, 0.3_f32);
    for n in [1, 100, 3333] {
        let scaled = |seed, low, width| random(seed, n).into_iter().map(|u| low + width * u).collect::<Vec<f32>>();
        let (price, strike, years) = (scaled(26, 5.0, 25.0), scaled(27, 1.0, 99.0), scaled(28, 0.25, 9.75));
        let (calls, puts) = (gpu.zeros::<f32>(n)?, gpu.zeros::<f32>(n)?);
        let arguments = args![
            gpu.buffer(&price)?,
            gpu.buffer(&strike)?,
            gpu.buffer(&years)?,
            &calls,
            &puts,
            n as i32,
            rate,
            volatility
        ];
        gpu.launch("black_scholes", [7, 1, 1], [96, 1, 1], 0, arguments)?;
        let (r, v) = (f64::from(rate), f64::from(volatility));
        let pairs: Vec<(f32, f32)> = (0..n)
            .map(|i| {
                let (s, x, t) = (f64::from(price[i]), f64::from(strike[i]), f64::from(years[i]));
                let d1 = ((s / x).ln() + (r + 0.5 * v * v) * t) / (v * t.sqrt());
                let d2 = d1 - v * t.sqrt();
                let later = x * (-r * t).exp();
                let call = s * normal_cdf(d1) - later * normal_cdf(d2);
                (call as f32, (later * normal_cdf(-d2) - s * normal_cdf(-d1)) as f32)
            })
            .collect();
        let (call, put): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
        close("calls", &gpu.read(&calls)?, &call, 2e-5)?;
        close("puts", &gpu.read(&puts)?, &put, 2e-5)?;
    }
    Ok(())
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let split = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    };
    for _ in 0..10 {
        let (high0, low0) = split(0xD251_1F53, counter[0]);
        let (high1, low1) = split(0xCD9E_8D57, counter[2]);
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

fn philox_words(gpu: &Gpu) -> Result<()> {
    let (n, seed) = (333, 0x1234_5678_9ABC_DEF0_u64);
    let out = gpu.zeros::<u32>(4 * n)?;
    gpu.launch("random_words", blocks(n, 128), [128, 1, 1], 0, args![&out, n as i32, seed])?;
    let expected: Vec<u32> =
        (0..n as u32).flat_map(|at| philox([at, 0, 0, 0], [seed as u32, (seed >> 32) as u32])).collect();
    equal("random_words", &gpu.read(&out)?, &expected)
}

fn monte_carlo(gpu: &Gpu) -> Result<()> {
    let (paths, steps, seed) = (500_u32, 4_u32, 99_u64);
    let (start, strike, drift, spread) = (100.0_f32, 95.0_f32, 0.001_f32, 0.05_f32);
    let sum = gpu.zeros::<f64>(1)?;
    let arguments = args![&sum, paths as i32, steps as i32, start, strike, drift, spread, seed];
    gpu.launch("monte_carlo", blocks(paths as usize, 64), [64, 1, 1], 0, arguments)?;
    let expected: f64 = (0..paths)
        .map(|path| {
            let mut price = f64::from(start);
            for step in 0..steps {
                let words = philox([path, step, 0, 0], [seed as u32, 0]);
                let unit = 2_f64.powi(-32);
                let (u, v) = ((f64::from(words[0]) + 1.0) * unit, f64::from(words[1]) * unit);
                let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                price *= (f64::from(drift) + f64::from(spread) * normal).exp();
            }
            (price - f64::from(strike)).max(0.0)
        })
        .sum();
    close("monte_carlo", &gpu.read(&sum)?, &[expected], 1e-4)
}

fn fast_math(gpu: &Gpu) -> Result<()> {
    let x = random(29, 500);
    let out = gpu.zeros::<f32>(5 * x.len())?;
    gpu.launch("fast_math", blocks(x.len(), 128), [128, 1, 1], 0, args![gpu.buffer(&x)?, &out, x.len() as i32])?;
    let expected: Vec<f32> =
        x.iter().flat_map(|x| [x.sin(), (-x).exp(), (x + 1.5).ln(), (x + 1.0).powf(1.5), x / (x + 2.0)]).collect();
    close("fast_math", &gpu.read(&out)?, &expected, 3e-6)
}
