//! `a[i] += 1`, ten million times, in double and in single precision.
//!
//! So little work for each byte that the copies decide: the table shows them apart from the kernel.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::increment::{increment_f32, increment_f64};

/// Adds 1 to each element of an array
#[derive(Parser)]
struct Args {
    /// Elements of the array
    #[arg(long, default_value_t = 10_000_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("increment")?;

    show.warm_up(increment_f64(&mut [0.0]))?;
    let mut expected: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let mut a = expected.clone();
    let on_cpu = time(|| expected.iter_mut().for_each(|a| *a += 1.0));
    let on_device = show.module().for_each_timed(n, increment_f64(&mut a))?;
    show.result("f64", n, on_cpu, on_device, same(&a, &expected));

    show.warm_up(increment_f32(&mut [0.0]))?;
    let mut expected: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut a = expected.clone();
    let on_cpu = time(|| expected.iter_mut().for_each(|a| *a += 1.0));
    let on_device = show.module().for_each_timed(n, increment_f32(&mut a))?;
    show.result("f32", n, on_cpu, on_device, same(&a, &expected));

    show.finish()
}
