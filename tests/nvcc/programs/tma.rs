//! Reference of `cuda/tma.cu`. The inputs are small integers, so every sum is exact.

use anyhow::Result;
use cust::memory::DeviceBuffer;

use crate::compare::equal;
use rumba_tests::tensor_map::{Element, TensorMap};
use crate::{Arg, Gpu, args};

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * i % 61) as f32 - 30.0).collect()
}

fn matrix(
    buffer: &DeviceBuffer<f32>,
    columns: usize,
    rows: usize,
    extent: [u32; 2],
    swizzle: u32,
) -> Result<TensorMap> {
    let sizes = [columns as u64, rows as u64];
    TensorMap::tiled(buffer.as_device_ptr().as_raw(), Element::Float32, &sizes, &extent, swizzle)
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    transpose(gpu)?;
    shared_tile(gpu)?;
    accumulate(gpu)?;
    convolve(gpu)?;
    grouped(gpu)
}

fn transpose(gpu: &Gpu) -> Result<()> {
    for (columns, rows) in [(32, 32), (100, 44), (4, 8)] {
        let input = numbers(columns * rows);
        let (from, to) = (gpu.buffer(&input)?, gpu.zeros::<f32>(columns * rows)?);
        let (x, y) = (matrix(&from, columns, rows, [32, 32], 3)?, matrix(&to, rows, columns, [32, 32], 0)?);
        let grid = [columns.div_ceil(32) as u32, rows.div_ceil(32) as u32, 1];
        gpu.launch("transpose", grid, [256, 1, 1], 0, &[Arg::value(x), Arg::value(y)])?;
        let expected: Vec<f32> = (0..columns * rows).map(|i| input[i % rows * columns + i / rows]).collect();
        equal("transpose", &gpu.read(&to)?, &expected)?;
    }
    Ok(())
}

fn shared_tile(gpu: &Gpu) -> Result<()> {
    let (tiles, rows) = (3, 150);
    let input = numbers(64 * rows);
    let from = gpu.buffer(&input)?;
    let out = gpu.zeros::<f32>(64 * 4 * tiles)?;
    let map = matrix(&from, 64, rows, [64, 16], 0)?;
    gpu.launch("shared_tile", [4 * tiles as u32, 1, 1], [64, 1, 1], 0, &[Arg::value(map), Arg::from(&out)])?;
    let at = |row: usize, column: usize| input.get(row * 64 + column).copied().unwrap_or(0.0);
    let expected: Vec<f32> =
        (0..256 * tiles).map(|i| (0..16).map(|step| at(i / 256 * 64 + i / 64 % 4 + 4 * step, i % 64)).sum()).collect();
    equal("shared_tile", &gpu.read(&out)?, &expected)
}

fn accumulate(gpu: &Gpu) -> Result<()> {
    let blocks = 7;
    let out = gpu.zeros::<f32>(40 * 20)?;
    let map = matrix(&out, 40, 20, [32, 16], 0)?;
    gpu.launch("accumulate", [blocks, 1, 1], [64, 1, 1], 0, &[Arg::value(map)])?;
    let mut expected = vec![0.0; 800];
    for block in 0..blocks as usize {
        for index in 0..512 {
            let (column, row) = (block % 2 * 32 + index % 32, index / 32 + 5);
            if column < 40 && row < 20 {
                expected[row * 40 + column] += (index + block) as f32;
            }
        }
    }
    equal("accumulate", &gpu.read(&out)?, &expected)
}

fn convolve(gpu: &Gpu) -> Result<()> {
    for (width, height, count) in [(8, 8, 1), (13, 5, 3), (3, 40, 2)] {
        let pixels = width * height * count;
        let (input, filter) = (numbers(8 * pixels), numbers(72));
        let (images, weights, out) = (gpu.buffer(&input)?, gpu.buffer(&filter)?, gpu.zeros::<f32>(pixels)?);
        let sizes = [8, width as u64, height as u64, count as u64];
        let map = TensorMap::columns(images.as_device_ptr().as_raw(), Element::Float32, &sizes, 1, 32)?;
        let (w, h, n) = (width as i32, height as i32, pixels as i32);
        let grid = [pixels.div_ceil(32) as u32, 1, 1];
        let [map, weights, to] = [Arg::value(map), Arg::from(&weights), Arg::from(&out)];
        gpu.launch("convolve", grid, [32, 1, 1], 0, &[map, weights, to, w.into(), h.into(), n.into()])?;
        let expected: Vec<f32> = (0..pixels)
            .map(|pixel| {
                let (x, y, image) = (pixel % width, pixel / width % height, pixel / (width * height));
                let term = |index: usize| {
                    let (right, down, channel) = (index / 8 % 3, index / 24, index % 8);
                    let (x, y) = ((x + right).wrapping_sub(1), (y + down).wrapping_sub(1));
                    if x < width && y < height {
                        input[((image * height + y) * width + x) * 8 + channel] * filter[index]
                    } else {
                        0.0
                    }
                };
                (0..72).map(term).sum()
            })
            .collect();
        equal("convolve", &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}

fn grouped(gpu: &Gpu) -> Result<()> {
    let shapes = [(3, 16), (20, 64), (9, 100), (1, 4)];
    let inputs: Vec<Vec<f32>> = shapes.iter().map(|(rows, columns)| numbers(rows * columns)).collect();
    let buffers = inputs.iter().map(|input| gpu.buffer(input)).collect::<Result<Vec<_>>>()?;
    let pointers: Vec<u64> = buffers.iter().map(|buffer| buffer.as_device_ptr().as_raw()).collect();
    let rows: Vec<i32> = shapes.iter().map(|(rows, _)| *rows as i32).collect();
    let columns: Vec<i32> = shapes.iter().map(|(_, columns)| *columns as i32).collect();
    let maps = gpu.zeros::<u64>(16 * shapes.len())?;
    let out = gpu.zeros::<f32>(32 * shapes.len())?;
    let like = matrix(&buffers[0], 16, 3, [32, 8], 0)?;
    let (pointers, rows, columns) = (gpu.buffer(&pointers)?, gpu.buffer(&rows)?, gpu.buffer(&columns)?);
    let like = Arg::value(like);
    let grid = [shapes.len() as u32, 1, 1];
    gpu.launch("grouped", grid, [32, 1, 1], 0, args![like, &maps, &pointers, &rows, &columns, &out])?;
    let expected: Vec<f32> = shapes
        .iter()
        .zip(&inputs)
        .flat_map(|((rows, columns), input)| {
            (0..32).map(move |lane| {
                let of_row = |row: usize| (lane..*columns).step_by(32).map(move |column| input[row * columns + column]);
                (0..*rows).flat_map(of_row).sum::<f32>()
            })
        })
        .collect();
    equal("grouped", &gpu.read(&out)?, &expected)
}
