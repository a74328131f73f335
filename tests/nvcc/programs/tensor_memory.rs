//! Reference of `cuda/tensor_memory.cu`. The inputs are small integers, and scale factors powers of two, so every sum is exact.

use anyhow::Result;
use bytemuck::{AnyBitPattern, NoUninit};
use cust::memory::{DeviceBuffer, DeviceCopy};
use half::{bf16, f16};

use crate::compare::equal;
use crate::numbers::{dot, e2m1, e4m3, halves, packed, small};
use rumba_tests::tensor_map::{Element, TensorMap};
use crate::{Arg, Gpu};

/// A map of boxes whose rows, of 64 or 128 bytes, are swizzled.
fn matrix<T: DeviceCopy>(
    buffer: &DeviceBuffer<T>,
    element: Element,
    sizes: [usize; 2],
    extent: [u32; 2],
) -> Result<Arg<'static>> {
    let sizes = sizes.map(|size| size as u64);
    let swizzle = if extent[0] as usize * size_of::<T>() == 64 { 2 } else { 3 };
    Ok(Arg::value(TensorMap::tiled(buffer.as_device_ptr().as_raw(), element, &sizes, &extent, swizzle)?))
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    pipelined(gpu)?;
    chained(gpu)?;
    let f32s = |sums: &[i32]| sums.iter().map(|sum| *sum as f32).collect::<Vec<f32>>();
    let halves = |sums: &[i32]| sums.iter().map(|sum| f16::from_f32(*sum as f32).to_bits()).collect::<Vec<u16>>();
    single(gpu, "single_tf32", Element::Float32, [128, 32], |x| x as f32, f32s)?;
    single(gpu, "single_f8", Element::Uint8, [128, 128], e4m3, f32s)?;
    single(gpu, "single_s8", Element::Uint8, [128, 128], |x| x as u8, <[i32]>::to_vec)?;
    single(gpu, "single_f16", Element::Float16, [128, 64], |x| f16::from_f32(x as f32).to_bits(), halves)?;
    single(gpu, "single_64", Element::Float16, [64, 64], |x| f16::from_f32(x as f32).to_bits(), f32s)?;
    options(gpu)?;
    scaled_f8(gpu)?;
    scaled_f4(gpu)?;
    told(gpu, "told", 256)?;
    told(gpu, "pair_256", 256)?;
    told(gpu, "pair_128", 128)
}

fn pipelined(gpu: &Gpu) -> Result<()> {
    for (rows, columns, depth) in [(128, 128, 64), (256, 384, 160)] {
        let (a, b) = (small(rows * depth, 3), small(columns * depth, 5));
        let encode = |list: &[i32]| list.iter().map(|x| bf16::from_f32(*x as f32).to_bits()).collect::<Vec<u16>>();
        let (x, y) = (gpu.buffer(&encode(&a))?, gpu.buffer(&encode(&b))?);
        let out = gpu.zeros::<f32>(rows * columns)?;
        let a_map = matrix(&x, Element::Bfloat16, [depth, rows], [32, 128])?;
        let b_map = matrix(&y, Element::Bfloat16, [depth, columns], [32, 128])?;
        let grid = [columns as u32 / 128, rows as u32 / 128, 1];
        let list = [a_map, b_map, Arg::from(&out), Arg::from(columns as i32), Arg::from(depth as i32)];
        gpu.launch("pipelined", grid, [256, 1, 1], 0, &list)?;
        let expected: Vec<f32> = (0..rows * columns)
            .map(|i| dot(&a[i / columns * depth..][..depth], &b[i % columns * depth..][..depth]) as f32)
            .collect();
        equal("pipelined", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}

fn chained(gpu: &Gpu) -> Result<()> {
    for (queries, keys) in [(128, 64), (256, 192)] {
        let all = [small(queries * 64, 1), small(keys * 64, 2), small(keys * 64, 7)];
        let buffers = all.iter().map(|list| gpu.buffer(&halves(list))).collect::<Result<Vec<_>>>()?;
        let out = gpu.zeros::<f32>(queries * 64)?;
        let map = |index: usize, rows: usize, height: u32| {
            matrix(&buffers[index], Element::Float16, [64, rows], [64, height])
        };
        let list = [map(0, queries, 128)?, map(1, keys, 64)?, map(2, keys, 64)?, Arg::from(&out), Arg::from(keys as i32)];
        gpu.launch("chained", [queries as u32 / 128, 1, 1], [128, 1, 1], 0, &list)?;
        let [q, k, v] = all;
        let score = |i: usize| dot(&q[i / keys * 64..][..64], &k[i % keys * 64..][..64]) as f32 * 0.125;
        let scores: Vec<f32> = (0..queries * keys).map(score).collect();
        let expected: Vec<f32> = (0..queries * 64)
            .map(|i| (0..keys).map(|key| scores[i / 64 * keys + key] * v[key * 64 + i % 64] as f32).sum())
            .collect();
        equal("chained", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}

fn single<T, R>(
    gpu: &Gpu,
    kernel: &str,
    element: Element,
    [rows, depth]: [usize; 2],
    encode: impl Fn(i32) -> T,
    result: impl Fn(&[i32]) -> Vec<R>,
) -> Result<()>
where
    T: DeviceCopy + NoUninit + AnyBitPattern,
    R: DeviceCopy + NoUninit + AnyBitPattern + PartialEq + std::fmt::Debug,
{
    let (a, b) = (small(rows * depth, 11), small(64 * depth, 4));
    let encoded = |list: &[i32]| list.iter().map(|x| encode(*x)).collect::<Vec<T>>();
    let (x, y) = (gpu.buffer(&encoded(&a))?, gpu.buffer(&encoded(&b))?);
    let out = gpu.zeros::<R>(rows * 64)?;
    let a_map = matrix(&x, element, [depth, rows], [depth as u32, rows as u32])?;
    let b_map = matrix(&y, element, [depth, 64], [depth as u32, 64])?;
    gpu.launch(kernel, [1, 1, 1], [128, 1, 1], 0, &[a_map, b_map, Arg::from(&out)])?;
    let sums: Vec<i32> =
        (0..rows * 64).map(|i| dot(&a[i / 64 * depth..][..depth], &b[i % 64 * depth..][..depth])).collect();
    equal(kernel, &gpu.read(&out)?, &result(&sums))
}

/// Steps of a depth of sixteen: before each but the first the sums are divided by four, and rows 0 to 7 stay as they are.
fn options(gpu: &Gpu) -> Result<()> {
    let (a, b) = (small(128 * 64, 9), small(64 * 64, 6));
    let (x, y) = (gpu.buffer(&halves(&a))?, gpu.buffer(&halves(&b))?);
    let out = gpu.zeros::<f32>(128 * 64)?;
    let a_map = matrix(&x, Element::Float16, [64, 128], [64, 128])?;
    let b_map = matrix(&y, Element::Float16, [64, 64], [64, 64])?;
    gpu.launch("options", [1, 1, 1], [128, 1, 1], 0, &[a_map, b_map, Arg::from(&out)])?;
    let expected: Vec<f32> = (0..128 * 64)
        .map(|i| {
            let part = |step: usize| -dot(&a[i / 64 * 64 + 16 * step..][..16], &b[i % 64 * 64 + 16 * step..][..16]) as f32;
            let steps = if i / 64 < 8 { 1..1 } else { 1..4 };
            steps.fold(part(0), |sum, step| sum / 4.0 + part(step))
        })
        .collect();
    equal("options", &gpu.read(&out)?, &expected)
}

fn scaled_f8(gpu: &Gpu) -> Result<()> {
    let (a, b) = (small(128 * 128, 13), small(64 * 128, 8));
    let encoded = |list: &[i32]| list.iter().map(|x| e4m3(*x)).collect::<Vec<u8>>();
    let (x, y) = (gpu.buffer(&encoded(&a))?, gpu.buffer(&encoded(&b))?);
    let scale = |seed: usize| move |i: usize| 126 + ((i * i + seed * i) % 4) as u8;
    let (of_a, of_b) = (scale(3), scale(5));
    let scales = [(128, scale(3)), (64, scale(5))].map(|(rows, of)| (0..4 * rows).map(of).collect::<Vec<u8>>());
    let buffers = [gpu.buffer(&scales[0])?, gpu.buffer(&scales[1])?];
    let out = gpu.zeros::<f32>(128 * 64)?;
    let a_map = matrix(&x, Element::Uint8, [128, 128], [128, 128])?;
    let b_map = matrix(&y, Element::Uint8, [128, 64], [128, 64])?;
    let list = [a_map, b_map, Arg::from(&buffers[0]), Arg::from(&buffers[1]), Arg::from(&out)];
    gpu.launch("scaled_f8", [1, 1, 1], [128, 1, 1], 0, &list)?;
    let power = |code: u8| 2_f32.powi(i32::from(code) - 127);
    let expected: Vec<f32> = (0..128 * 64)
        .map(|i| {
            let (row, column) = (i / 64, i % 64);
            let part = |group: usize| {
                let sum = dot(&a[row * 128 + 32 * group..][..32], &b[column * 128 + 32 * group..][..32]) as f32;
                sum * power(of_a(row * 4 + group)) * power(of_b(column * 4 + group))
            };
            (0..4).map(part).sum()
        })
        .collect();
    equal("scaled_f8", &gpu.read(&out)?, &expected)
}

fn scaled_f4(gpu: &Gpu) -> Result<()> {
    let (a, b) = (small(128 * 64, 15), small(64 * 64, 2));
    let (x, y) = (gpu.buffer(&packed(&a, e2m1))?, gpu.buffer(&packed(&b, e2m1))?);
    // 0.5, 1 and 2 as `ue4m3`.
    let code = |seed: usize| move |i: usize| [0x30, 0x38, 0x40][(i * i + seed * i) % 3];
    let power = |code: u8| 2_f32.powi((i32::from(code) - 0x38) / 8);
    let (of_a, of_b) = (code(1), code(4));
    let scales = [(0..512).map(code(1)).collect::<Vec<u8>>(), (0..256).map(code(4)).collect::<Vec<u8>>()];
    let buffers = [gpu.buffer(&scales[0])?, gpu.buffer(&scales[1])?];
    let out = gpu.zeros::<f32>(128 * 64)?;
    let list =
        [Arg::from(&x), Arg::from(&y), Arg::from(&buffers[0]), Arg::from(&buffers[1]), Arg::from(&out)];
    gpu.launch("scaled_f4", [1, 1, 1], [128, 1, 1], 0, &list)?;
    let expected: Vec<f32> = (0..128 * 64)
        .map(|i| {
            let (row, column) = (i / 64, i % 64);
            let part = |group: usize| {
                let sum = dot(&a[row * 64 + 16 * group..][..16], &b[column * 64 + 16 * group..][..16]) as f32;
                sum * power(of_a(row * 4 + group)) * power(of_b(column * 4 + group))
            };
            (0..4).map(part).sum()
        })
        .collect();
    equal("scaled_f4", &gpu.read(&out)?, &expected)
}

/// A cluster of two blocks.
fn told(gpu: &Gpu, kernel: &str, rows: usize) -> Result<()> {
    let (a, b) = (small(rows * 16, 21), small(64 * 16, 10));
    let (x, y) = (gpu.buffer(&halves(&a))?, gpu.buffer(&halves(&b))?);
    let out = gpu.zeros::<f32>(rows * 64)?;
    let list = [Arg::from(&x), Arg::from(&y), Arg::from(&out)];
    gpu.launch(kernel, [2, 1, 1], [128, 1, 1], 0, &list)?;
    let expected: Vec<f32> =
        (0..rows * 64).map(|i| dot(&a[i / 64 * 16..][..16], &b[i % 64 * 16..][..16]) as f32).collect();
    equal(kernel, &gpu.read(&out)?, &expected)
}
