//! Running totals: each element becomes the sum of all up to it, in one pass.

use bytemuck::cast_slice;
use clap::Parser;
use cuda_std::vector::{Vector4, vectors};
use kernels_gpu::scan::{BLOCK, TILE, scan};
use rumba::showcase::{Options, same, time};
use rumba::{InOut, Out};

/// Computes the sums of all elements up to each
#[derive(Parser)]
struct Args {
    /// Elements of the array, rounded up to fours
    #[arg(long, default_value_t = 4_000_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("scan")?;
    let x: Vec<u32> = (0..n.next_multiple_of(4)).map(|i| (i % 1000) as u32).collect();

    let mut expected = x.clone();
    let on_cpu = time(|| {
        let mut sum = 0_u32;
        for x in &mut expected {
            sum = sum.wrapping_add(*x);
            *x = sum;
        }
    });

    // The kernel reads and writes four numbers at once.
    let mut sums = vec![Vector4([0_u32; 4]); x.len() / 4];
    let mut tiles = vec![0_u64; x.len().div_ceil(TILE)];
    let blocks = tiles.len() as u32;
    let vectors = vectors(&x);
    let call = scan(&vectors, InOut(&mut tiles), Out(&mut sums));
    let on_device = show.module().launch_timed((blocks, BLOCK as u32), call)?;
    show.result("", x.len(), on_cpu, on_device, same(cast_slice(&sums), &expected));
    show.finish()
}
