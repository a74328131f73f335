//! Gravity between all pairs of bodies.

use clap::Parser;
use cuda_std::vector::Vector4;
use gallery::{Options, close, time};
use kernels_gpu::nbody::{TILE, nbody};
use rumba::{LaunchConfig, Out};

/// Computes the acceleration of each body by all others
#[derive(Parser)]
struct Args {
    /// Bodies
    #[arg(long, default_value_t = 2048)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

const SOFTENING: f32 = 0.01;

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("nbody")?;
    // On a spiral, all of the same mass.
    let bodies: Vec<Vector4<f32>> = (0..n)
        .map(|i| {
            let angle = i as f32 * 0.1;
            let radius = (i + 1) as f32 / n as f32;
            Vector4([radius * angle.cos(), radius * angle.sin(), radius - 0.5, 1.0 / n as f32])
        })
        .collect();

    let mut expected = vec![0.0_f32; 4 * n];
    let on_cpu = time(|| {
        for (sum, body) in expected.chunks_exact_mut(4).zip(&bodies) {
            for other in &bodies {
                let d: [f32; 3] = std::array::from_fn(|k| other[k] - body[k]);
                let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING).sqrt();
                let pull = other[3] * inverse * inverse * inverse;
                (0..3).for_each(|k| sum[k] += pull * d[k]);
            }
        }
    });

    let mut acceleration = vec![Vector4([0.0_f32; 4]); n];
    let blocks = n.div_ceil(TILE) as u32;
    let call = nbody(&bodies, SOFTENING, Out(&mut acceleration));
    let on_device = show.module().launch_timed(LaunchConfig::grid(blocks), call)?;
    let agreed = close::<f32>(bytemuck::cast_slice(&acceleration), &expected, 1e-4);
    show.result("", n, on_cpu, on_device, agreed);
    show.finish()
}
