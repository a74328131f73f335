//! An image, blurred by a filter of 5 by 5 weights.

use clap::Parser;
use gallery::{Options, close, time};
use kernels_gpu::convolution::{Filter, RADIUS, SIDE, TILE, convolution};
use rumba::{LaunchConfig, Out};

/// Blurs an image
#[derive(Parser)]
struct Args {
    /// Rows and columns of the image
    #[arg(long, default_value_t = 512)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("convolution")?;
    // Rings, and the numbers of Pascal's triangle as weights.
    let image: Vec<f32> = (0..n * n).map(|i| (((i % n).pow(2) + (i / n).pow(2)) % 500) as f32).collect();
    let binomial = [1.0, 4.0, 6.0, 4.0, 1.0].map(|weight: f32| weight / 16.0);
    let filter = Filter(binomial.map(|y| binomial.map(|x| y * x)));

    let mut expected = vec![0.0; n * n];
    let on_cpu = time(|| on_cpu(&image, filter, &mut expected, n));

    let tiles = n.div_ceil(TILE) as u32;
    let mut output = vec![0.0; n * n];
    let call = convolution(&image, filter, (Out(&mut output), [n, n]));
    let on_device = show.module().launch_timed(LaunchConfig::grid((tiles, tiles)), call)?;
    show.result("", n * n, on_cpu, on_device, close(&output, &expected, 1e-5));
    show.finish()
}

/// The same on the CPU: each weight applied to all pixels.
fn on_cpu(image: &[f32], filter: Filter, output: &mut [f32], n: usize) {
    let pixel = |y: usize, x: usize| match (y.checked_sub(RADIUS), x.checked_sub(RADIUS)) {
        (Some(y), Some(x)) if y < n && x < n => image[y * n + x],
        _ => 0.0,
    };
    for (i, output) in output.iter_mut().enumerate() {
        for k in 0..SIDE * SIDE {
            let (j, i_of_filter) = (k / SIDE, k % SIDE);
            *output += filter.0[j][i_of_filter] * pixel(i / n + j, i % n + i_of_filter);
        }
    }
}
