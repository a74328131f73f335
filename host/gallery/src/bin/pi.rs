//! π, from random points in a square.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::pi::{pi, points_in_circle};
use rumba::InOut;

/// Estimates π from random points
#[derive(Parser)]
struct Args {
    /// Blocks of 256 threads; each thread has 256 points
    #[arg(long, default_value_t = 64)]
    blocks: u32,
    /// Where the random numbers start
    #[arg(long, default_value_t = 42)]
    seed: u32,
    #[command(flatten)]
    options: Options,
}

const BLOCK: u32 = 256;
const STEPS: u32 = 128;

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { blocks, seed, options } = Args::parse();
    let mut show = options.start("pi")?;
    let points = 2 * u64::from(blocks) * u64::from(BLOCK * STEPS);

    let mut expected = 0;
    let on_cpu = time(|| {
        for stream in 0..blocks * BLOCK {
            let hits = (0..STEPS).map(|step| u64::from(points_in_circle(seed, stream, step)));
            expected += hits.sum::<u64>();
        }
    });

    let mut hits = [0_u64];
    let on_device = show.module().launch_timed((blocks, BLOCK), pi(seed, STEPS, InOut(&mut hits)))?;
    show.result("", points as usize, on_cpu, on_device, same(&hits, &[expected]));
    show.note(&format!("π is about {:.4}", 4.0 * hits[0] as f64 / points as f64));
    show.finish()
}
