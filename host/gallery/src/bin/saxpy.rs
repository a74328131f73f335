//! `y = a x + y`: the classic first program of linear algebra on a GPU.

use clap::Parser;
use gallery::{Options, close, time};
use kernels_gpu::saxpy::saxpy;

/// Adds a multiple of one array to another: y = a x + y
#[derive(Parser)]
struct Args {
    /// Elements of each array
    #[arg(long, default_value_t = 10_000_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("saxpy")?;
    let a = 2.5;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 7.0).collect();
    let mut y: Vec<f32> = (0..n).map(|i| (i % 77) as f32 / 3.0).collect();

    let mut expected = y.clone();
    let on_cpu = time(|| {
        for (y, x) in expected.iter_mut().zip(&x) {
            *y += a * x;
        }
    });

    show.warm_up(saxpy(a, &[0.0], &mut [0.0]))?;
    let on_device = show.module().for_each_timed(n, saxpy(a, &x, &mut y))?;

    // The device rounds once for product and sum together, the CPU twice.
    show.result("", n, on_cpu, on_device, close(&y, &expected, 1e-6));
    show.finish()
}
