//! Kernels of nvcc that multiply half-precision matrices in tiles, against a product on the host.
//!
//! `tiles.cu` is their source; both add up the same products in the same order.

use half::f16;

use super::form::mix;
use crate::common::{Arg, Bench, f32s};

const M: usize = 64;
const N: usize = 96;
const K: usize = 80;

/// The product of matrices made by `number`, by fragments and by hand.
fn products(number: impl Fn(u64) -> f32) -> (Vec<f32>, Vec<f32>, [Vec<f32>; 2]) {
    let matrix = |elements: usize, seed: u64| -> Vec<f16> {
        (0..elements as u64).map(|index| f16::from_f32(number(mix(seed ^ index)))).collect()
    };
    let (a, b) = (matrix(M * K, 1 << 40), matrix(K * N, 1 << 41));
    let bench = Bench::new(include_str!("../../matrix/tiles.ptx"));
    let upload = |matrix: &[f16]| bench.upload(&matrix.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    let results = ["fragments", "by_hand"].map(|name| {
        let out = bench.zeros(4 * M * N);
        let arguments: [Arg; 5] =
            [upload(&a).into(), upload(&b).into(), out.into(), (N as u32).into(), (K as u32).into()];
        let grid = [(N / 32) as u32, (M / 32) as u32, 1];
        if let Err(error) = bench.launch(name, grid, [64, 1, 1], 0, &arguments) {
            panic!("{error}");
        }
        f32s(&bench.download(out, 4 * M * N))
    });
    let sum = |index: usize, f: fn(f64) -> f64| {
        let products = (0..K).map(|k| f64::from(a[index / N * K + k]) * f64::from(b[k * N + index % N]));
        products.map(f).sum::<f64>() as f32
    };
    let exact = (0..M * N).map(|index| sum(index, |x| x)).collect();
    let magnitude = (0..M * N).map(|index| sum(index, f64::abs)).collect();
    (exact, magnitude, results)
}

#[test]
fn small_integers_are_exact() {
    let (exact, _, results) = products(|random| (random % 17) as f32 - 8.0);
    for result in results {
        assert_eq!(result, exact);
    }
}

#[test]
fn real_numbers_are_close() {
    let (exact, magnitude, results) = products(|random| (random >> 40) as f32 / 16_777_216.0 - 0.5);
    assert_eq!(results[0], results[1], "the kernels add up the same products in the same order");
    for ((x, exact), magnitude) in results[0].iter().zip(exact).zip(magnitude) {
        // Each of the steps cuts off less than the last bit of the largest sum.
        let bound = magnitude * (K / 16 + 1) as f32 * 2_f32.powi(-22);
        assert!((x - exact).abs() <= bound, "{x} instead of {exact}");
    }
}
