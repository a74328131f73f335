//! `y = a x + y` in a program of the crate `cust`: context, stream, memory and copies are cust's, the kernel and its typed launch
//! are Rumba's.

use clap::Parser;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use gallery::{Options, close, time};
use kernels_gpu::saxpy::saxpy;
use rumba::LaunchConfig;

/// Adds a multiple of one array to another, in the context and on a stream of the crate cust
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
    let mut show = options.start("with_cust")?;
    let a = 2.5;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 7.0).collect();
    let mut y: Vec<f32> = (0..n).map(|i| (i % 77) as f32 / 3.0).collect();

    let mut expected = y.clone();
    let on_cpu = time(|| {
        for (y, x) in expected.iter_mut().zip(&x) {
            *y += a * x;
        }
    });

    // ANCHOR: program
    // What a program on cust has. The context is the device's primary one, which Rumba uses too.
    let _context = show.device().to_cust()?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let (on_device_x, on_device_y) = (DeviceBuffer::from_slice(&x)?, DeviceBuffer::from_slice(&y)?);

    // Stream and memory change their owner, and nothing is copied.
    let stream = rumba::Stream::from_cust(show.device(), stream)?;
    let on_device_x = rumba::DeviceBuffer::from_cust(show.device(), on_device_x)?;
    let mut on_device_y = rumba::DeviceBuffer::from_cust(show.device(), on_device_y)?;
    show.warm_up(saxpy(a, &[0.0], &mut [0.0]))?;
    let config = LaunchConfig::for_each(n).stream(&stream);
    let on_device = show.module().launch_timed(config, saxpy(a, &on_device_x, &mut on_device_y))?;
    on_device_y.into_cust()?.copy_to(&mut y)?;
    // ANCHOR_END: program

    // The device rounds once for product and sum together, the CPU twice.
    show.result("", n, on_cpu, on_device, close(&y, &expected, 1e-6));
    show.finish()
}
