//! The sum of an array: each block adds up its share, and the host adds up the blocks' sums.

use clap::Parser;
use gallery::{Options, close, time};
use kernels_gpu::reduce::reduce;
use rumba::Out;

/// Adds up the elements of an array
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
    let mut show = options.start("reduce")?;
    let x: Vec<f32> = (0..n).map(|i| (i % 101) as f32 / 100.0).collect();

    let mut expected = 0.0_f64;
    let on_cpu = time(|| expected = x.iter().map(|&x| f64::from(x)).sum());

    // Enough blocks to fill the device; each goes around the array until all is done.
    let blocks = 4 * show.device().limits().multiprocessors_at_once;
    let mut sums = vec![0.0_f32; blocks as usize];
    show.warm_up(reduce(&[0.0], Out(&mut [0.0])))?;
    let on_device = show.module().launch_timed((blocks, 256), reduce(&x, Out(&mut sums)))?;
    let sum: f64 = sums.iter().map(|&sum| f64::from(sum)).sum();

    show.result("", n, on_cpu, on_device, close(&[sum], &[expected], 1e-5));
    show.finish()
}
