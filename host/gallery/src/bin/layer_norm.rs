//! Layer normalisation of each row of a matrix, one warp for each row.

use bytemuck::cast_slice;
use clap::Parser;
use cuda_std::vector::{Vector4, vectors};
use gallery::{Options, close, time};
use kernels_gpu::layer_norm::{COLUMNS, layer_norm};
use rumba::Out;

/// Normalises each row of a matrix
#[derive(Parser)]
struct Args {
    /// Rows
    #[arg(long, default_value_t = 512)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

const EPSILON: f32 = 1e-5;

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("layer_norm")?;
    let x: Vec<f32> = (0..n * COLUMNS).map(|i| (i * 7919 % 1000) as f32 / 100.0).collect();
    let scale: Vec<f32> = (0..COLUMNS).map(|i| 1.0 + (i % 3) as f32).collect();
    let offset: Vec<f32> = (0..COLUMNS).map(|i| (i % 5) as f32).collect();

    let mut expected = x.clone();
    let on_cpu = time(|| {
        for row in expected.chunks_exact_mut(COLUMNS) {
            let mean = row.iter().sum::<f32>() / COLUMNS as f32;
            let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / COLUMNS as f32;
            let factor = 1.0 / (variance + EPSILON).sqrt();
            for ((x, scale), offset) in row.iter_mut().zip(&scale).zip(&offset) {
                *x = (*x - mean) * factor * scale + offset;
            }
        }
    });

    let [x, scale, offset] = [x, scale, offset].map(|numbers| vectors(&numbers));
    let mut y = vec![Vector4([0.0_f32; 4]); x.len()];
    let warps = 8;
    let call = layer_norm(&x, &scale, &offset, EPSILON, (Out(&mut y), [n, COLUMNS / 4]));
    let on_device = show.module().launch_timed((n.div_ceil(warps) as u32, 32 * warps as u32), call)?;
    show.result("", 4 * x.len(), on_cpu, on_device, close::<f32>(cast_slice(&y), &expected, 1e-4));
    show.finish()
}
