//! Running totals: each element becomes the sum of all up to it, in one pass.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::scan::{TILE, places, scan};
use rumba::{InOut, LaunchConfig, Out};

/// Computes the sums of all elements up to each
#[derive(Parser)]
struct Args {
    /// Elements of the array
    #[arg(long, default_value_t = 4_000_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("scan")?;
    let x: Vec<u32> = (0..n).map(|i| (i % 1000) as u32).collect();

    let mut expected = x.clone();
    let on_cpu = time(|| {
        let mut sum = 0_u32;
        for x in &mut expected {
            sum = sum.wrapping_add(*x);
            *x = sum;
        }
    });

    let mut sums = vec![0_u32; x.len()];
    let mut published = vec![0_u64; places(x.len())];
    let blocks = x.len().div_ceil(TILE) as u32;
    let call = scan(&x, InOut(&mut published), Out(&mut sums));
    let on_device = show.module().launch_timed(LaunchConfig::grid(blocks), call)?;
    show.result("", x.len(), on_cpu, on_device, same(&sums, &expected));
    show.finish()
}
