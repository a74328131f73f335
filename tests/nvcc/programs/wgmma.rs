//! Reference of `cuda/wgmma.cu`. The inputs are small integers, so every sum is exact.

use anyhow::Result;
use bytemuck::{AnyBitPattern, NoUninit};
use cust::memory::{DeviceBuffer, DeviceCopy};
use half::{bf16, f16};

use crate::compare::equal;
use rumba_tests::tensor_map::{Element, TensorMap};
use crate::{Arg, Gpu};

fn numbers(count: usize, seed: usize) -> Vec<i32> {
    (0..count).map(|i| ((i * i + seed * i) % 37 % 5) as i32 - 2).collect()
}

fn matrix<T: DeviceCopy>(
    buffer: &DeviceBuffer<T>,
    element: Element,
    columns: usize,
    rows: usize,
    extent: [u32; 2],
    swizzle: u32,
) -> Result<TensorMap> {
    let sizes = [columns as u64, rows as u64];
    TensorMap::tiled(buffer.as_device_ptr().as_raw(), element, &sizes, &extent, swizzle)
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    pipelined(gpu)?;
    chained(gpu)?;
    single(gpu, "single_tf32", Element::Float32, 32, |x| x as f32, |sum| sum as f32)?;
    single(gpu, "single_f8", Element::Uint8, 128, e4m3, |sum| sum as f32)?;
    single(gpu, "single_s8", Element::Uint8, 128, |x| x as u8, |sum| sum)
}

/// The bits of a whole number from -2 to 2.
fn e4m3(x: i32) -> u8 {
    let magnitude = [0, 0x38, 0x40][x.unsigned_abs() as usize];
    magnitude | if x < 0 { 0x80 } else { 0 }
}

fn pipelined(gpu: &Gpu) -> Result<()> {
    for (rows, columns, depth) in [(128, 64, 32), (256, 128, 160), (100, 72, 96)] {
        let (a, b) = (numbers(rows * depth, 3), numbers(columns * depth, 5));
        let halves = |list: &[i32]| list.iter().map(|x| bf16::from_f32(*x as f32).to_bits()).collect::<Vec<u16>>();
        let (x, y) = (gpu.buffer(&halves(&a))?, gpu.buffer(&halves(&b))?);
        let out = gpu.zeros::<u16>(rows * columns)?;
        let maps = [
            matrix(&x, Element::Bfloat16, depth, rows, [32, 64], 2)?,
            matrix(&y, Element::Bfloat16, depth, columns, [32, 64], 2)?,
            matrix(&out, Element::Bfloat16, columns, rows, [64, 64], 3)?,
        ];
        let [a_map, b_map, c_map] = maps.map(Arg::value);
        let grid = [columns.div_ceil(64) as u32, rows.div_ceil(128) as u32, 1];
        gpu.launch("pipelined_product", grid, [384, 1, 1], 0, &[a_map, b_map, c_map, Arg::from(depth as i32)])?;
        let expected: Vec<u16> = (0..rows * columns)
            .map(|i| {
                let (row, column) = (i / columns, i % columns);
                let sum: i32 = (0..depth).map(|k| a[row * depth + k] * b[column * depth + k]).sum();
                bf16::from_f32(sum as f32).to_bits()
            })
            .collect();
        equal("pipelined_product", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}

fn chained(gpu: &Gpu) -> Result<()> {
    for (queries, keys) in [(64, 64), (128, 192)] {
        let all = [numbers(queries * 64, 1), numbers(keys * 64, 2), numbers(keys * 64, 7)];
        let buffers = all
            .iter()
            .map(|list| gpu.buffer(&list.iter().map(|x| f16::from_f32(*x as f32).to_bits()).collect::<Vec<u16>>()))
            .collect::<Result<Vec<_>>>()?;
        let out = gpu.zeros::<f32>(queries * 64)?;
        let map = |index: usize, rows: usize| matrix(&buffers[index], Element::Float16, 64, rows, [64, 64], 3);
        let [q, k, v] = [map(0, queries)?, map(1, keys)?, map(2, keys)?].map(Arg::value);
        let list = [q, k, v, Arg::from(&out), Arg::from(keys as i32)];
        gpu.launch("chained", [queries as u32 / 64, 1, 1], [128, 1, 1], 0, &list)?;
        let [q, k, v] = all;
        let score = |row: usize, key: usize| -> f32 {
            let sum: i32 = (0..64).map(|i| q[row * 64 + i] * k[key * 64 + i]).sum();
            f16::from_f32(sum as f32 * 0.125).to_f32()
        };
        let expected: Vec<f32> = (0..queries)
            .flat_map(|row| {
                let scores: Vec<f32> = (0..keys).map(|key| score(row, key)).collect();
                let v = &v;
                (0..64).map(move |column| (0..keys).map(|key| scores[key] * v[key * 64 + column] as f32).sum())
            })
            .collect();
        equal("chained", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}

fn single<T, R>(
    gpu: &Gpu,
    kernel: &str,
    element: Element,
    depth: usize,
    encode: impl Fn(i32) -> T,
    result: impl Fn(i32) -> R,
) -> Result<()>
where
    T: DeviceCopy + NoUninit + AnyBitPattern,
    R: DeviceCopy + NoUninit + AnyBitPattern + PartialEq + std::fmt::Debug,
{
    let (a, b) = (numbers(64 * depth, 11), numbers(64 * depth, 4));
    let encoded = |list: &[i32]| list.iter().map(|x| encode(*x)).collect::<Vec<T>>();
    let (x, y) = (gpu.buffer(&encoded(&a))?, gpu.buffer(&encoded(&b))?);
    let out = gpu.zeros::<R>(64 * 64)?;
    let map = |buffer| matrix(buffer, element, depth, 64, [depth as u32, 64], 3);
    let [a_map, b_map] = [map(&x)?, map(&y)?].map(Arg::value);
    gpu.launch(kernel, [1, 1, 1], [128, 1, 1], 0, &[a_map, b_map, Arg::from(&out)])?;
    // A sum starts with the number of the thread that holds it.
    let thread = |row: usize, column: usize| row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
    let expected: Vec<R> = (0..64 * 64)
        .map(|i| {
            let (row, column) = (i / 64, i % 64);
            let sum: i32 = (0..depth).map(|k| a[row * depth + k] * b[column * depth + k]).sum();
            result(sum + thread(row, column) as i32)
        })
        .collect();
    equal(kernel, &gpu.read(&out)?, &expected)
}
