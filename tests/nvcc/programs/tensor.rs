//! Reference of `cuda/tensor.cu`. The inputs are small integers, so every sum is exact.

use anyhow::Result;

use crate::compare::equal;
use crate::{Gpu, args};

/// The bits of a small whole number as half.
fn half(x: i32) -> u16 {
    let bits = (x as f32).to_bits();
    let magnitude = (bits >> 13 & 0x3_ffff).saturating_sub(112 << 10);
    (bits >> 16 & 0x8000 | magnitude) as u16
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for size in [32_usize, 64, 96] {
        let number = |i: usize, prime: usize| (i * i % prime) as i32 - prime as i32 / 2;
        let numbers = |prime: usize| (0..size * size).map(move |i| number(i, prime)).collect::<Vec<_>>();
        let (a, b) = (numbers(17), numbers(23));
        let sum = |row: usize, column: usize, transposed: bool| -> i32 {
            let at = |k: usize| if transposed { column * size + k } else { k * size + column };
            (0..size).map(|k| a[row * size + k] * b[at(k)]).sum()
        };
        let all = |transposed: bool| {
            (0..size * size).map(move |i| (i / size, i % size)).map(move |(r, c)| sum(r, c, transposed))
        };

        let halves = |list: &[i32]| list.iter().map(|x| half(*x)).collect::<Vec<u16>>();
        let c = gpu.zeros::<f32>(size * size)?;
        let (x, y) = (gpu.buffer(&halves(&a))?, gpu.buffer(&halves(&b))?);
        let tiles = size as u32 / 16;
        gpu.launch("product_half", [tiles, tiles, 1], [32, 1, 1], 0, args![x, y, &c, size as i32])?;
        let expected: Vec<f32> = all(true).map(|sum| 0.5 * sum as f32).collect();
        equal("product_half", &gpu.read(&c)?, &expected)?;

        let bytes = |list: &[i32]| list.iter().map(|x| *x as i8).collect::<Vec<i8>>();
        let c = gpu.zeros::<i32>(size * size)?;
        let (x, y) = (gpu.buffer(&bytes(&a))?, gpu.buffer(&bytes(&b))?);
        let grid = [size as u32 / 8, size as u32 / 32, 1];
        gpu.launch("product_bytes", grid, [32, 1, 1], 0, args![x, y, &c, size as i32])?;
        let expected: Vec<i32> = all(false).map(|sum| 7 + sum).collect();
        equal("product_bytes", &gpu.read(&c)?, &expected)?;
    }
    Ok(())
}
