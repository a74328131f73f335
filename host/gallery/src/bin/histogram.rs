//! How often each byte occurs in a text.

use clap::Parser;
use cuda_std::vector::vectors;
use gallery::{Options, same, time};
use kernels_gpu::histogram::{VALUES, histogram};
use rumba::{InOut, LaunchConfig};

/// Counts how often each value of a byte occurs
#[derive(Parser)]
struct Args {
    /// Bytes, rounded up to sixteens
    #[arg(long, default_value_t = 4_000_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("histogram")?;
    let text = include_bytes!("histogram.rs");
    let bytes: Vec<u8> = text.iter().copied().cycle().take(n.next_multiple_of(16)).collect();

    let mut expected = vec![0_u32; VALUES];
    let on_cpu = time(|| bytes.iter().for_each(|&byte| expected[usize::from(byte)] += 1));

    let words: Vec<u32> = bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
    let vectors = vectors(&words);
    let blocks = 4 * show.device().limits().multiprocessors_at_once;
    let mut counts = vec![0_u32; VALUES];
    let call = histogram(&vectors, InOut(&mut counts));
    let on_device = show.module().launch_timed(LaunchConfig::grid(blocks), call)?;
    show.result("", bytes.len(), on_cpu, on_device, same(&counts, &expected));
    show.finish()
}
