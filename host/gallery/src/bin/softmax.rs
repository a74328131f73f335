//! Softmax of each row of a matrix, one warp for each row.

use bytemuck::cast_slice;
use clap::Parser;
use cuda_std::vector::{Vector4, vectors};
use gallery::{Options, close, time};
use kernels_gpu::softmax::{COLUMNS, softmax};
use rumba::Out;

/// Computes the softmax of each row of a matrix
#[derive(Parser)]
struct Args {
    /// Rows
    #[arg(long, default_value_t = 512)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("softmax")?;
    let x: Vec<f32> = (0..n * COLUMNS).map(|i| (i * 7919 % 1000) as f32 / 100.0).collect();

    let mut expected = x.clone();
    let on_cpu = time(|| {
        for row in expected.chunks_exact_mut(COLUMNS) {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter_mut().for_each(|x| *x = (*x - largest).exp());
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|x| *x /= sum);
        }
    });

    let vectors = vectors(&x);
    let mut y = vec![Vector4([0.0_f32; 4]); vectors.len()];
    let warps = 8;
    let call = softmax(&vectors, (Out(&mut y), [n, COLUMNS / 4]));
    let on_device = show.module().launch_timed((n.div_ceil(warps) as u32, 32 * warps as u32), call)?;
    show.result("", x.len(), on_cpu, on_device, close::<f32>(cast_slice(&y), &expected, 1e-5));
    show.finish()
}
