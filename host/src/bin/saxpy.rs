//! `y = a x + y`: the classic first program of linear algebra on a GPU.

use clap::Parser;
use kernels_gpu::saxpy::saxpy;
use rumba::showcase::{Options, same, time};

/// Adds a multiple of one array to another: y = a x + y
#[derive(Parser)]
struct Args {
    /// Elements of each array
    #[arg(long, default_value_t = 10_000_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("saxpy")?;
    let a = 2.5;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 7.0).collect();
    let mut y: Vec<f32> = (0..n).map(|i| (i % 77) as f32 / 3.0).collect();

    let mut expected = y.clone();
    // The device rounds once for product and sum together, and so does `mul_add`.
    let on_cpu = time(|| expected.iter_mut().zip(&x).for_each(|(y, x)| *y = x.mul_add(a, *y)));

    show.warm_up(saxpy(a, &x[..1], &mut [0.0]))?;
    let on_device = show.module().for_each_timed(n, saxpy(a, &x, &mut y))?;

    show.result("", n, on_cpu, on_device, same(&y, &expected));
    show.finish()
}
