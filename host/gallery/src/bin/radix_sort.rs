//! Sorting, by one digit of 8 bits after the other: three launches for each of four digits.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::radix_sort::{DIGITS, TILE, radix_count, radix_scatter};
use kernels_gpu::scan::{self, scan};
use rumba::Timings;

/// Sorts an array
#[derive(Parser)]
struct Args {
    /// Keys
    #[arg(long, default_value_t = 200_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("radix_sort")?;
    let keys: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();

    let mut expected = keys.clone();
    let on_cpu = time(|| expected.sort_unstable());

    let blocks = n.div_ceil(TILE);
    let (device, module) = (show.device(), show.module());
    let mut from = device.buffer_from(&keys)?;
    let mut to = device.zeros::<u32>(n)?;
    let mut counts = device.zeros::<u32>(DIGITS * blocks)?;
    let mut ends = device.zeros::<u32>(DIGITS * blocks)?;
    let mut published = device.zeros::<u64>(scan::places(DIGITS * blocks))?;
    let mut on_device = Timings::default();
    let threads = (blocks as u32, DIGITS as u32);
    for shift in [0, 8, 16, 24] {
        let counted = module.launch_timed(threads, radix_count(&from, shift, &mut counts))?;
        published.clear()?;
        let grid = (counts.len().div_ceil(scan::TILE) as u32, scan::BLOCK as u32);
        let sums = scan(&counts, &mut published, &mut ends);
        let scanned = module.launch_timed(grid, sums)?;
        let scattered = module.launch_timed(threads, radix_scatter(&from, shift, &ends, &mut to))?;
        on_device.kernel += counted.kernel + scanned.kernel + scattered.kernel;
        std::mem::swap(&mut from, &mut to);
    }
    let agreed = same(&from.to_vec()?, &expected);
    show.result("", n, on_cpu, on_device, agreed);
    show.finish()
}
