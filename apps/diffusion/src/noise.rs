//! Noise.

use std::f64::consts::TAU;

/// Independent numbers of a standard normal distribution (Box, Muller 1958). Each seed has its own.
pub fn normal(seed: u64, count: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut number = || {
        // Never 0, which has no logarithm.
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        (radius * (TAU * random.f64()).cos()) as f32
    };
    (0..count).map(|_| number()).collect()
}
