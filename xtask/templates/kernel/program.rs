//! `NAME`: one element per thread, compared with a plain loop on the CPU.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::NAME::NAME;
use rumba::{In, Out};

/// Describe what the program shows.
#[derive(Parser)]
#[command(after_help = "Examples:\n  cargo xtask run NAME\n  cargo xtask run NAME -- --n 1000000")]
struct Args {
    #[command(flatten)]
    options: Options,
    /// Elements
    #[arg(long, default_value_t = 1 << 20)]
    n: usize,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { options, n } = Args::parse();
    let mut show = options.start("NAME")?;
    let a = 2.5;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();

    let mut expected = vec![0.0; n];
    let cpu = time(|| {
        for (y, x) in expected.iter_mut().zip(&x) {
            *y = a * x;
        }
    });

    let mut y = vec![0.0; n];
    let device = show.module().for_each_timed(n, NAME(a, In(&x), Out(&mut y)))?;
    show.result("", n, cpu, device, same(&y, &expected));
    show.finish()
}
