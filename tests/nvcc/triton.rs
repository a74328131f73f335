//! The kernels of `triton/kernels.py`, with the PTX that Triton made of them, and what they should compute.

use anyhow::{Context, Result, bail};
use bytemuck::{AnyBitPattern, NoUninit};
use cust::memory::{DeviceBuffer, DeviceCopy};
use half::{bf16, f16};

use crate::compare::{close, equal};
use crate::numbers::{dot, e2m1, e4m3, e5m2, halves, packed, small};
use crate::{Arg, Gpu, Program, Size};

macro_rules! kernels {
    ($($name:ident for $capability:literal: $run:expr;)*) => {
        /// Every kernel.
        pub const ALL: &[Program] = &[$(Program {
            name: concat!("triton_", stringify!($name)),
            ptx: include_str!(concat!("triton/ptx/", stringify!($name), ".ptx")),
            run: |gpu| {
                let kernel = Kernel::new(include_str!(concat!("triton/ptx/", stringify!($name), ".ptx")))?;
                let run: fn(&Gpu, &Kernel) -> Result<()> = $run;
                run(gpu, &kernel)
            },
            capability: Some($capability),
        }),*];
    };
}

kernels! {
    product_f16 for "10.0": |gpu, kernel| product(gpu, kernel, [128, 64, 64], |x| f16::from_f32(x as f32).to_bits());
    product_bf16 for "10.0": |gpu, kernel| product(gpu, kernel, [128, 128, 64], |x| bf16::from_f32(x as f32).to_bits());
    product_tf32 for "10.0": |gpu, kernel| product(gpu, kernel, [128, 64, 32], |x| x as f32);
    product_e4m3 for "10.0": |gpu, kernel| product(gpu, kernel, [128, 64, 128], e4m3);
    product_e5m2 for "10.0": |gpu, kernel| product(gpu, kernel, [64, 64, 64], e5m2);
    product_s8 for "10.0": product_s8;
    product_64 for "10.0": |gpu, kernel| product(gpu, kernel, [64, 128, 64], |x| f16::from_f32(x as f32).to_bits());
    product_256 for "10.0": |gpu, kernel| product(gpu, kernel, [256, 64, 64], |x| f16::from_f32(x as f32).to_bits());
    transposed for "10.0": transposed;
    layer for "10.0": layer;
    boxes for "10.0": boxes;
    attention for "10.0": attention;
    scaled_e4m3 for "10.0": |gpu, kernel| scaled(gpu, kernel, 32, [eights, eights], |power| (127 + power) as u8);
    scaled_e2m1 for "10.0": |gpu, kernel| scaled(gpu, kernel, 32, [fours, fours], |power| (127 + power) as u8);
    scaled_mixed for "10.0": |gpu, kernel| scaled(gpu, kernel, 32, [eights, fours], |power| (127 + power) as u8);
    scaled_nvf4 for "10.0": |gpu, kernel| scaled(gpu, kernel, 16, [fours, fours], |power| (0x38 + 8 * power) as u8);
    pair_256 for "10.0": |gpu, kernel| pair(gpu, kernel, 256);
    pair_128 for "10.0": |gpu, kernel| pair(gpu, kernel, 128);
    copied for "10.0": copied;
    copied_scales for "10.0": copied_scales;
    softmax for "10.0": softmax;
    norm for "12.0": norm;
    total for "12.0": total;
    prefix for "12.0": prefix;
}

/// How a kernel is launched, by the first line of its PTX.
struct Kernel {
    name: &'static str,
    shared: u32,
    threads: u32,
    /// Bytes of memory for each block.
    scratch: usize,
}

impl Kernel {
    fn new(ptx: &'static str) -> Result<Self> {
        let words: Vec<&str> = ptx.lines().next().unwrap_or_default().split_whitespace().collect();
        let ["//", "shared", shared, "threads", threads, "scratch", scratch] = words[..] else {
            bail!("the first line does not say how to launch the kernel: {words:?}");
        };
        let entry = ptx.split(".entry ").nth(1).and_then(|rest| rest.split('(').next());
        Ok(Self {
            name: entry.context("there is no kernel")?,
            shared: shared.parse()?,
            threads: threads.parse()?,
            scratch: scratch.parse()?,
        })
    }

    /// Launches the kernel. Triton's kernels have two further parameters: memory for themselves, and for a profiler.
    fn launch<'b>(&self, gpu: &Gpu, grid: Size, args: Vec<Arg<'b>>) -> Result<()> {
        let scratch = gpu.zeros::<u8>(self.scratch * grid.iter().product::<u32>() as usize)?;
        let mut args: Vec<Arg<'_>> = args;
        args.extend([Arg::from(&scratch), Arg::from(0_u64)]);
        gpu.launch(self.name, grid, [self.threads, 1, 1], self.shared, &args)?;
        gpu.synchronize()
    }
}

/// Rows, columns and depths of products, in blocks.
const SIZES: [[usize; 3]; 3] = [[1, 1, 1], [1, 2, 3], [2, 1, 5]];

/// Launches a product of integers, whose second factor is stored by `at(k, column)`; `encode` makes the inputs and `decode` the
/// expected sums.
fn products<T, R>(
    gpu: &Gpu,
    kernel: &Kernel,
    block: [usize; 3],
    encode: impl Fn(&[i32]) -> Vec<T>,
    places: impl Fn([usize; 3]) -> [Box<dyn Fn(usize, usize) -> usize>; 2],
    decode: impl Fn(i32) -> R,
) -> Result<()>
where
    T: DeviceCopy + NoUninit + AnyBitPattern,
    R: DeviceCopy + NoUninit + AnyBitPattern + PartialEq + std::fmt::Debug,
{
    for blocks in SIZES {
        let sizes @ [m, n, k] = std::array::from_fn(|index| blocks[index] * block[index]);
        let (a, b) = (small(m * k, 3), small(k * n, 5));
        let (x, y, out) = (gpu.buffer(&encode(&a))?, gpu.buffer(&encode(&b))?, gpu.zeros::<R>(m * n)?);
        let mut args = vec![Arg::from(&x), Arg::from(&y), Arg::from(&out)];
        args.extend(sizes.map(|size| Arg::from(size as i32)));
        kernel.launch(gpu, [blocks[0] as u32, blocks[1] as u32, 1], args)?;
        let [of_a, of_b] = places(sizes);
        let expected: Vec<R> = (0..m * n)
            .map(|i| decode((0..k).map(|depth| a[of_a(i / n, depth)] * b[of_b(depth, i % n)]).sum()))
            .collect();
        equal(kernel.name, &gpu.read(&out)?, &expected)?;
    }
    Ok(())
}

/// Both factors row by row.
fn by_rows([_, n, k]: [usize; 3]) -> [Box<dyn Fn(usize, usize) -> usize>; 2] {
    [Box::new(move |row, depth| row * k + depth), Box::new(move |depth, column| depth * n + column)]
}

fn product<T>(gpu: &Gpu, kernel: &Kernel, block: [usize; 3], encode: impl Fn(i32) -> T) -> Result<()>
where
    T: DeviceCopy + NoUninit + AnyBitPattern,
{
    let encode = |list: &[i32]| list.iter().map(|x| encode(*x)).collect();
    products(gpu, kernel, block, encode, by_rows, |sum| sum as f32)
}

fn product_s8(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let encode = |list: &[i32]| list.iter().map(|x| *x as u8).collect();
    products(gpu, kernel, [128, 64, 64], encode, by_rows, |sum| sum)
}

fn transposed(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let places = |[m, _, k]: [usize; 3]| -> [Box<dyn Fn(usize, usize) -> usize>; 2] {
        [Box::new(move |row, depth| depth * m + row), Box::new(move |depth, column| column * k + depth)]
    };
    products(gpu, kernel, [128, 64, 64], halves, places, |sum| sum as f32)
}

fn boxes(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let places = |[_, _, k]: [usize; 3]| -> [Box<dyn Fn(usize, usize) -> usize>; 2] {
        [Box::new(move |row, depth| row * k + depth), Box::new(move |depth, column| column * k + depth)]
    };
    products(gpu, kernel, [128, 64, 64], halves, places, |sum| sum as f32)
}

fn layer(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let (m, n, k) = (256, 128, 192);
    let (a, b) = (small(m * k, 8), small(k * n, 9));
    let bias: Vec<f32> = small(n, 4).into_iter().map(|x| x as f32 * 8.5).collect();
    let (x, y, z) = (gpu.buffer(&halves(&a))?, gpu.buffer(&halves(&b))?, gpu.buffer(&bias)?);
    let out = gpu.zeros::<u16>(m * n)?;
    let mut args = vec![Arg::from(&x), Arg::from(&y), Arg::from(&z), Arg::from(&out)];
    args.extend([m, n, k].map(|size| Arg::from(size as i32)));
    kernel.launch(gpu, [2, 2, 1], args)?;
    let expected: Vec<u16> = (0..m * n)
        .map(|i| {
            let sum: i32 = (0..k).map(|depth| a[i / n * k + depth] * b[depth * n + i % n]).sum();
            f16::from_f32((sum as f32 + bias[i % n]).max(0.0)).to_bits()
        })
        .collect();
    equal("layer", &gpu.read(&out)?, &expected)
}

fn attention(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    const WIDE: usize = 64;
    for (queries, keys) in [(128, 64), (256, 192)] {
        let all = [small(queries * WIDE, 1), small(keys * WIDE, 2), small(keys * WIDE, 7)];
        let buffers = all.iter().map(|list| gpu.buffer(&halves(list))).collect::<Result<Vec<DeviceBuffer<u16>>>>()?;
        let out = gpu.zeros::<f32>(queries * WIDE)?;
        let mut args: Vec<Arg<'_>> = buffers.iter().map(Arg::from).collect();
        args.extend([Arg::from(&out), Arg::from(keys as i32), Arg::from(0.125_f32)]);
        kernel.launch(gpu, [queries as u32 / 128, 1, 1], args)?;
        let [q, k, v] = all;
        let expected: Vec<f32> = (0..queries)
            .flat_map(|row| {
                let score = |key: usize| f64::from(dot(&q[row * WIDE..][..WIDE], &k[key * WIDE..][..WIDE])) * 0.125;
                let weights: Vec<f64> = (0..keys).map(|key| score(key).exp2()).collect();
                let (v, total) = (&v, weights.iter().sum::<f64>());
                (0..WIDE)
                    .map(|column| {
                        let sum = |(key, weight): (usize, &f64)| weight * f64::from(v[key * WIDE + column]);
                        (weights.iter().enumerate().map(sum).sum::<f64>() / total) as f32
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        close("attention", &gpu.read(&out)?, &expected, 2e-3)?;
    }
    Ok(())
}

/// The bytes of numbers.
type Encode = fn(&[i32]) -> Vec<u8>;

/// Numbers of eight bits.
fn eights(list: &[i32]) -> Vec<u8> {
    list.iter().map(|x| e4m3(*x)).collect()
}

/// Numbers of four bits.
fn fours(list: &[i32]) -> Vec<u8> {
    packed(list, e2m1)
}

/// Products of numbers with a scale factor for each `group` of them, a power of two that `code` encodes.
fn scaled(gpu: &Gpu, kernel: &Kernel, group: usize, encode: [Encode; 2], code: impl Fn(i32) -> u8) -> Result<()> {
    let (m, n, k) = (128, 128, 256);
    let (a, b) = (small(m * k, 3), small(n * k, 5));
    let power = |seed: usize, i: usize| ((i * i + seed * i) % 3) as i32 - 1;
    let codes = |seed: usize, count: usize| (0..count).map(|i| code(power(seed, i))).collect::<Vec<u8>>();
    let groups = k / group;
    let buffers = [encode[0](&a), codes(1, m * groups), encode[1](&b), codes(4, n * groups)];
    let buffers = buffers.iter().map(|list| gpu.buffer(list)).collect::<Result<Vec<_>>>()?;
    let out = gpu.zeros::<f32>(m * n)?;
    let mut args: Vec<Arg<'_>> = buffers.iter().map(Arg::from).collect();
    args.push(Arg::from(&out));
    args.extend([m, n, k].map(|size| Arg::from(size as i32)));
    kernel.launch(gpu, [1, 2, 1], args)?;
    let expected: Vec<f32> = (0..m * n)
        .map(|i| {
            let (row, column) = (i / n, i % n);
            let part = |at: usize| {
                let sum = dot(&a[row * k + at * group..][..group], &b[column * k + at * group..][..group]);
                sum as f32 * 2_f32.powi(power(1, row * groups + at) + power(4, column * groups + at))
            };
            (0..groups).map(part).sum()
        })
        .collect();
    equal("scaled", &gpu.read(&out)?, &expected)
}

/// A product of a cluster of two blocks.
fn pair(gpu: &Gpu, kernel: &Kernel, m: usize) -> Result<()> {
    let (n, k) = (128, 64);
    let (a, b) = (small(m * k, 3), small(k * n, 5));
    let (x, y, out) = (gpu.buffer(&halves(&a))?, gpu.buffer(&halves(&b))?, gpu.zeros::<f32>(m * n)?);
    kernel.launch(gpu, [2, 1, 1], vec![Arg::from(&x), Arg::from(&y), Arg::from(&out)])?;
    let sum = |i: usize| (0..k).map(|depth| a[i / n * k + depth] * b[depth * n + i % n]).sum::<i32>();
    equal("pair", &gpu.read(&out)?, &(0..m * n).map(|i| sum(i) as f32).collect::<Vec<f32>>())
}

/// A copy through tensor memory.
fn copied(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let x: Vec<f32> = (0..128 * 64).map(|i| i as f32).collect();
    let (input, out) = (gpu.buffer(&x)?, gpu.zeros::<f32>(x.len())?);
    kernel.launch(gpu, [1, 1, 1], vec![Arg::from(&input), Arg::from(&out)])?;
    equal("copied", &gpu.read(&out)?, &x)
}

/// A product of 128 rows and columns with four scale factors each, which lie in the order that a copy expects.
fn copied_scales(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    const SIZE: usize = 128;
    let (a, b) = (small(SIZE * SIZE, 17), small(SIZE * SIZE, 6));
    let power = |seed: usize, row: usize, group: usize| ((row * row + seed * group) % 3) as i32 - 1;
    let codes = |seed: usize| {
        let code = |byte: usize| (127 + power(seed, byte / 16 + byte % 16 / 4 * 32, byte % 4)) as u8;
        (0..4 * SIZE).map(code).collect::<Vec<u8>>()
    };
    let buffers = [eights(&a), codes(1), eights(&b), codes(2)];
    let buffers = buffers.iter().map(|list| gpu.buffer(list)).collect::<Result<Vec<_>>>()?;
    let out = gpu.zeros::<f32>(SIZE * SIZE)?;
    let mut args: Vec<Arg<'_>> = buffers.iter().map(Arg::from).collect();
    args.push(Arg::from(&out));
    kernel.launch(gpu, [1, 1, 1], args)?;
    let expected: Vec<f32> = (0..SIZE * SIZE)
        .map(|i| {
            let (row, column) = (i / SIZE, i % SIZE);
            let part = |group: usize| {
                let sum = dot(&a[row * SIZE + 32 * group..][..32], &b[column * SIZE + 32 * group..][..32]);
                sum as f32 * 2_f32.powi(power(1, row, group) + power(2, column, group))
            };
            (0..4).map(part).sum()
        })
        .collect();
    equal("copied_scales", &gpu.read(&out)?, &expected)
}

/// Rows of numbers, and what a function makes of each row.
fn rows(gpu: &Gpu, kernel: &Kernel, further: &[Vec<f32>], of_row: impl Fn(&[f64]) -> Vec<f32>) -> Result<()> {
    let (count, columns) = (5, 500);
    let x: Vec<f32> = small(count * columns, 6).into_iter().map(|x| x as f32 * 0.75).collect();
    let mut buffers = vec![gpu.buffer(&x)?];
    for list in further {
        buffers.push(gpu.buffer(list)?);
    }
    let out = gpu.zeros::<f32>(count * columns)?;
    let mut args: Vec<Arg<'_>> = buffers.iter().map(Arg::from).collect();
    args.extend([Arg::from(&out), Arg::from(columns as i32)]);
    kernel.launch(gpu, [count as u32, 1, 1], args)?;
    let expected: Vec<f32> =
        x.chunks(columns).flat_map(|row| of_row(&row.iter().map(|x| f64::from(*x)).collect::<Vec<_>>())).collect();
    close(kernel.name, &gpu.read(&out)?, &expected, 1e-5)
}

fn softmax(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    rows(gpu, kernel, &[], |row| {
        let total: f64 = row.iter().map(|x| x.exp()).sum();
        row.iter().map(|x| (x.exp() / total) as f32).collect()
    })
}

fn norm(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let [weight, bias] = [2, 3].map(|seed| small(500, seed).into_iter().map(|x| x as f32 * 0.5).collect::<Vec<f32>>());
    rows(gpu, kernel, &[weight.clone(), bias.clone()], |row| {
        let count = row.len() as f64;
        let mean = row.iter().sum::<f64>() / count;
        let scale = 1.0 / (row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count + 1e-5).sqrt();
        let number = |(i, x): (usize, &f64)| ((x - mean) * scale * f64::from(weight[i]) + f64::from(bias[i])) as f32;
        row.iter().enumerate().map(number).collect()
    })
}

fn total(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let x = small(5000, 11);
    let (input, out) = (gpu.buffer(&x)?, gpu.zeros::<i32>(1)?);
    kernel.launch(gpu, [5, 1, 1], vec![Arg::from(&input), Arg::from(&out), Arg::from(x.len() as i32)])?;
    equal("total", &gpu.read(&out)?, &[x.iter().sum::<i32>()])
}

fn prefix(gpu: &Gpu, kernel: &Kernel) -> Result<()> {
    let x = small(2048, 12);
    let (input, out) = (gpu.buffer(&x)?, gpu.zeros::<i32>(x.len())?);
    kernel.launch(gpu, [4, 1, 1], vec![Arg::from(&input), Arg::from(&out)])?;
    let sums = |block: &[i32]| {
        let add = |sum: &mut i32, x: &i32| {
            *sum += x;
            Some(*sum)
        };
        block.iter().scan(0, add).collect::<Vec<_>>()
    };
    let expected: Vec<i32> = x.chunks(512).flat_map(sums).collect();
    equal("prefix", &gpu.read(&out)?, &expected)
}
