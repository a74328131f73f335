//! The Mandelbrot set: one thread for each pixel, and an image at the end.

use anyhow::Context;
use clap::Parser;
use gallery::{Agreement, Options, time};
use kernels_gpu::mandelbrot::{Region, escape, mandelbrot};
use rumba::{LaunchConfig, Out};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Draws the Mandelbrot set
#[derive(Parser)]
struct Args {
    /// Width of the image in pixels; its height is two thirds of that
    #[arg(long, default_value_t = 960)]
    n: usize,
    /// Steps after which a point counts as belonging to the set
    #[arg(long, default_value_t = 200)]
    limit: u32,
    /// The image
    #[arg(long, value_name = "FILE", default_value = "target/mandelbrot.png")]
    output: PathBuf,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n: width, limit, output, options } = Args::parse();
    let mut show = options.start("mandelbrot")?;
    let height = width * 2 / 3;
    let region = Region { left: -2.2, top: 1.1, step: 3.3 / width as f32 };

    let mut expected = vec![0; width * height];
    let on_cpu = time(|| {
        for (y, row) in expected.chunks_exact_mut(width.max(1)).enumerate() {
            for (x, count) in row.iter_mut().enumerate() {
                *count = escape(region.left + x as f32 * region.step, region.top - y as f32 * region.step, limit);
            }
        }
    });

    let mut iterations = vec![0; width * height];
    show.warm_up(mandelbrot(region, limit, (Out(&mut [0]), [1, 1])))?;
    let threads = LaunchConfig::covering((u32::try_from(width)?, u32::try_from(height)?)).block((16, 16));
    let pixels = (Out(&mut iterations), [height, width]);
    let on_device = show.module().launch_timed(threads, mandelbrot(region, limit, pixels))?;
    show.result("", width * height, on_cpu, on_device, nearly_all_same(&iterations, &expected));

    write_image(&output, &iterations, width, height, limit)
        .with_context(|| format!("could not write the image {}", output.display()))?;
    show.note(&format!("image: {}", output.display()));
    show.finish()
}

/// Close to the edge of the set a difference in the last bit grows into a different count. The
/// device rounds product and sum together, the CPU apart, so a few points in a hundred may differ;
/// they may not be many.
fn nearly_all_same(device: &[u32], cpu: &[u32]) -> Agreement {
    let differ = device.iter().zip(cpu).filter(|(device, cpu)| device != cpu).count();
    if device.len() == cpu.len() && differ * 50 <= cpu.len() {
        Ok(())
    } else {
        Err(format!("{differ} of {} pixels differ", cpu.len()))
    }
}

fn write_image(path: &Path, iterations: &[u32], width: usize, height: usize, limit: u32) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    let pixels: Vec<u8> = iterations.iter().flat_map(|&count| colour(count, limit)).collect();
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(())
}

/// Black within the set; outside, from deep blue through white to amber the longer a point stays.
fn colour(count: u32, limit: u32) -> [u8; 3] {
    const STOPS: [[f32; 3]; 5] =
        [[0.0, 7.0, 60.0], [32.0, 107.0, 203.0], [237.0, 255.0, 255.0], [255.0, 170.0, 0.0], [90.0, 2.0, 0.0]];
    if count >= limit {
        return [0; 3];
    }
    // Counts grow quickly towards the edge of the set: a root spreads the low ones out.
    let position = (count as f32 / limit as f32).sqrt() * (STOPS.len() - 1) as f32;
    let (stop, part) = (position as usize, position.fract());
    std::array::from_fn(|channel| {
        let (from, to) = (STOPS[stop][channel], STOPS[(stop + 1).min(STOPS.len() - 1)][channel]);
        (from + (to - from) * part) as u8
    })
}
