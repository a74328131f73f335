//! The product of two matrices: from global memory, by way of tiles in shared memory, and by tensor cores.

use clap::Parser;
use cuda_std::half::f16;
use cuda_std::vector::padded_rows;
use gallery::{Options, close, time};
use kernels_gpu::matmul::{TILE, matmul, matmul_tiled};
use kernels_gpu::matmul_mma::{self, matmul_mma};
use rumba::{LaunchConfig, Out};

/// Multiplies two square matrices, naively, in tiles and by tensor cores
#[derive(Parser)]
struct Args {
    /// Rows and columns of each matrix
    #[arg(long, default_value_t = 512)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("matmul")?;
    let side = u32::try_from(n)?;
    let a: Vec<f32> = (0..n * n).map(|i| (i % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 17) as f32 / 16.0).collect();
    let mut expected = vec![0.0; n * n];
    let on_cpu = time(|| on_cpu(&a, &b, &mut expected, n));

    // One thread for each element of the product: x counts columns, y rows.
    let tile = TILE as u32;
    let threads = LaunchConfig::covering((side, side)).block((tile, tile));
    let mut c = vec![0.0; n * n];

    show.warm_up(matmul(&[1.0], &[1.0], 1, (Out(&mut [0.0]), [1, 1])))?;
    let on_device = show.module().launch_timed(threads, matmul(&a, &b, side, (Out(&mut c), [n, n])))?;
    show.result("naive", n * n, on_cpu, on_device, close(&c, &expected, 1e-4));

    c.fill(0.0);
    show.module().launch((1, (tile, tile)), matmul_tiled(&[1.0], &[1.0], 1, (Out(&mut [0.0]), [1, 1])))?;
    let on_device = show.module().launch_timed(threads, matmul_tiled(&a, &b, side, (Out(&mut c), [n, n])))?;
    show.result("tiled", n * n, on_cpu, on_device, close(&c, &expected, 1e-4));

    // The numbers are small fractions, which f16 has exactly.
    let halves = |x: &[f32]| padded_rows(&x.iter().copied().map(f16::from_f32).collect::<Vec<_>>(), n);
    let (a, b) = (halves(&a), halves(&b));
    let tiles = side.div_ceil(matmul_mma::TILE as u32);
    c.fill(0.0);
    let on_device =
        show.module().launch_timed(((tiles, tiles), (4, 32)), matmul_mma(&a, &b, side, (Out(&mut c), [n, n])))?;
    show.result("mma", n * n, on_cpu, on_device, close(&c, &expected, 1e-4));

    show.finish()
}

/// The same on the CPU, row by row so that the inner loop runs along both rows.
fn on_cpu(a: &[f32], b: &[f32], c: &mut [f32], n: usize) {
    let columns = n.max(1);
    for (a_row, c_row) in a.chunks_exact(columns).zip(c.chunks_exact_mut(columns)) {
        for (a, b_row) in a_row.iter().zip(b.chunks_exact(columns)) {
            for (b, c) in b_row.iter().zip(&mut *c_row) {
                *c += a * b;
            }
        }
    }
}
