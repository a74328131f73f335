//! Who am I? Every thread of a launch writes down its place, in one, two and three dimensions.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::thread_indexing::{Place, thread_indexing_1d, thread_indexing_2d, thread_indexing_3d};
use rumba::{LaunchConfig, Out};

/// Lets every thread write down its place in its block and its block's place in the grid
#[derive(Parser)]
struct Args {
    /// Threads along each dimension
    #[arg(long, default_value_t = 100)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("thread_indexing")?;
    let side = u32::try_from(n)?;

    // The blocks do not divide the grid evenly: those at the edge have threads without an element.
    let block = [64, 1, 1];
    let mut places = vec![Place::default(); n];
    let (expected, on_cpu) = places_on_cpu([side, 1, 1], block);
    show.warm_up(thread_indexing_1d(Out(&mut [Place::default()])))?;
    let launch = LaunchConfig::covering(side).block(block);
    let on_device = show.module().launch_timed(launch, thread_indexing_1d(Out(&mut places)))?;
    show.result("1-D", n, on_cpu, on_device, same(&places, &expected));

    let block = [16, 8, 1];
    let mut places = vec![Place::default(); n * n];
    let (expected, on_cpu) = places_on_cpu([side, side, 1], block);
    show.warm_up(thread_indexing_2d((Out(&mut [Place::default()]), [1, 1])))?;
    let launch = LaunchConfig::covering((side, side)).block(block);
    let on_device = show.module().launch_timed(launch, thread_indexing_2d((Out(&mut places), [n, n])))?;
    show.result("2-D", n * n, on_cpu, on_device, same(&places, &expected));

    let block = [8, 8, 4];
    let mut places = vec![Place::default(); n * n * n];
    let (expected, on_cpu) = places_on_cpu([side, side, side], block);
    show.warm_up(thread_indexing_3d((Out(&mut [Place::default()]), [1, 1, 1])))?;
    let launch = LaunchConfig::covering((side, side, side)).block(block);
    let on_device = show.module().launch_timed(launch, thread_indexing_3d((Out(&mut places), [n, n, n])))?;
    show.result("3-D", n * n * n, on_cpu, on_device, same(&places, &expected));

    show.finish()
}

/// Where each thread must be, x running fastest, and how long the CPU takes to say so.
fn places_on_cpu(threads: [u32; 3], block: [u32; 3]) -> (Vec<Place>, std::time::Duration) {
    let mut places = Vec::with_capacity(threads.iter().map(|&length| length as usize).product());
    let took = time(|| {
        for z in 0..threads[2] {
            for y in 0..threads[1] {
                for x in 0..threads[0] {
                    places.push(Place {
                        thread: [x % block[0], y % block[1], z % block[2]],
                        block: [x / block[0], y / block[1], z / block[2]],
                    });
                }
            }
        }
    });
    (places, took)
}
