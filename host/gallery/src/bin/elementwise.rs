//! Two arrays in, one out: their products, and their sums.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::elementwise::{add, multiply};
use rumba::Out;

/// Multiplies and adds two arrays, element by element
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
    let mut show = options.start("elementwise")?;
    let a: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 8.0).collect();
    let b: Vec<f32> = (0..n).map(|i| (i % 777) as f32 - 300.0).collect();
    let mut expected = vec![0.0; n];
    let mut out = vec![0.0; n];

    show.warm_up(multiply(&[0.0], &[0.0], Out(&mut [0.0])))?;
    let on_cpu = time(|| {
        for (out, (a, b)) in expected.iter_mut().zip(a.iter().zip(&b)) {
            *out = a * b;
        }
    });
    // `Out`: the kernel writes every element, so there is nothing to copy to the device.
    let on_device = show.module().for_each_timed(n, multiply(&a, &b, Out(&mut out)))?;
    show.result("multiply", n, on_cpu, on_device, same(&out, &expected));

    show.warm_up(add(&[0.0], &[0.0], Out(&mut [0.0])))?;
    let on_cpu = time(|| {
        for (out, (a, b)) in expected.iter_mut().zip(a.iter().zip(&b)) {
            *out = a + b;
        }
    });
    let on_device = show.module().for_each_timed(n, add(&a, &b, Out(&mut out)))?;
    show.result("add", n, on_cpu, on_device, same(&out, &expected));

    show.finish()
}
