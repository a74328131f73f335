//! Clusters in a cloud of points: some steps of k-means.

use clap::Parser;
use cuda_std::vector::Vector4;
use gallery::{Options, close, time};
use kernels_gpu::kmeans::{SUMS, kmeans, nearest};
use rumba::{InOut, LaunchConfig, Out, Timings};

/// Finds clusters of points
#[derive(Parser)]
struct Args {
    /// Points
    #[arg(long, default_value_t = 50_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

const COUNT: usize = 16;
const STEPS: usize = 3;

type Point = Vector4<f32>;

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("kmeans")?;
    // Around the corners of a cube in four dimensions.
    let points: Vec<Point> = (0..n)
        .map(|i| Vector4(std::array::from_fn(|k| ((i >> k) & 1) as f32 + (i * (k + 3) % 101) as f32 / 500.0)))
        .collect();
    let start: Vec<Point> = points[..COUNT.min(n)].to_vec();

    let mut expected = start.clone();
    let on_cpu = time(|| {
        for _ in 0..STEPS {
            let mut sums = vec![0.0_f32; SUMS * COUNT];
            for point in &points {
                let centre = SUMS * nearest(*point, &expected);
                (0..4).for_each(|k| sums[centre + k] += point[k]);
                sums[centre + 4] += 1.0;
            }
            move_centres(&mut expected, &sums);
        }
    });

    let mut centres = start;
    let mut labels = vec![0_u32; n];
    let blocks = 4 * show.device().limits().multiprocessors_at_once;
    let mut on_device = Timings::default();
    for _ in 0..STEPS {
        let mut sums = vec![0.0_f32; SUMS * COUNT];
        let call = kmeans(&points, &centres, Out(&mut labels), InOut(&mut sums));
        let step = show.module().launch_timed(LaunchConfig::grid(blocks), call)?;
        on_device.copy_in += step.copy_in;
        on_device.kernel += step.kernel;
        on_device.copy_out += step.copy_out;
        move_centres(&mut centres, &sums);
    }
    let agreed = close::<f32>(bytemuck::cast_slice(&centres), bytemuck::cast_slice(&expected), 1e-3);
    show.result("", n, on_cpu, on_device, agreed);
    show.finish()
}

/// Moves each centre to the middle of its points.
fn move_centres(centres: &mut [Point], sums: &[f32]) {
    for (centre, sums) in centres.iter_mut().zip(sums.chunks_exact(SUMS)) {
        if sums[4] > 0.0 {
            *centre = Vector4(std::array::from_fn(|k| sums[k] / sums[4]));
        }
    }
}
