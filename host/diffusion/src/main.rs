//! Draws a sheet of digits, a row for each, from noise.

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use cuda_std::half::{bf16, f16};
use diffusion::{SIZE, Sampler};
use indicatif::{ProgressBar, ProgressStyle};
use rumba::Device;
use rumba_nn::Nn;
use std::f32::consts::TAU;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Draws digits from noise by a diffusion model, which was trained on handwritten ones
#[derive(Parser)]
#[command(after_help = "Examples:
  cargo xtask run diffusion
  cargo xtask run diffusion --device gpu -- --columns 40 --steps 20
  cargo xtask run diffusion -- --seed 7 --guidance 2 --output digits.png")]
struct Args {
    /// How many there are of each digit
    #[arg(long, default_value_t = 6)]
    columns: usize,
    /// Steps from noise to a picture
    #[arg(long, default_value_t = 8)]
    steps: usize,
    /// How much more a picture is to be one of its digit than one of any. Other values than 1 take twice as long
    #[arg(long, default_value_t = 1.0)]
    guidance: f32,
    /// The noise; each seed has its own
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The numbers that layers compute in; sums are f32 in all
    #[arg(long, value_enum, default_value_t = Numbers::F32)]
    numbers: Numbers,
    /// The picture
    #[arg(long, value_name = "FILE", default_value = "target/digits.png")]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Numbers {
    F32,
    F16,
    Bf16,
}

/// How much larger pixels are drawn, and what lies between pictures.
const PIXEL: usize = 6;
const GAP: usize = 6;

fn main() -> anyhow::Result<()> {
    sigpipe::reset();
    let args = Args::parse();
    ensure!(
        args.columns > 0 && args.steps > 0,
        "a sheet has a column at least, and is drawn in a step at least"
    );
    let device = Device::new()?;
    let nn = Nn::new(&device)?;
    let digits: Vec<u32> = (0..10)
        .flat_map(|digit| std::iter::repeat_n(digit, args.columns))
        .collect();

    let bar = ProgressBar::new(args.steps as u64).with_style(
        ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} steps, {per_sec}, {eta} left")
            .expect("the template is constant"),
    );
    bar.set_message("recording");
    bar.tick();
    let begin = Instant::now();
    let mut sampler = match args.numbers {
        Numbers::F32 => Sampler::new::<f32>(&nn, &digits, args.guidance),
        Numbers::F16 => Sampler::new::<f16>(&nn, &digits, args.guidance),
        Numbers::Bf16 => Sampler::new::<bf16>(&nn, &digits, args.guidance),
    }?;
    sampler.start(&noise(args.seed, digits.len() * SIZE * SIZE))?;
    let recorded = begin.elapsed();
    bar.set_message("drawing");
    bar.reset();
    let begin = Instant::now();
    sampler.run(args.steps, || bar.inc(1))?;
    let drawn = begin.elapsed();
    bar.finish_and_clear();

    save(&args.output, args.columns, &sampler.pictures()?)?;
    let graph = sampler.program().graph();
    println!("device:    {}", device.name());
    println!(
        "recording: {:.2} s, a graph of {} launches with {:.1} MB for its tensors",
        recorded.as_secs_f64(),
        graph.len(),
        sampler.program().bytes() as f64 / 1e6
    );
    println!(
        "drawing:   {:.2} s, {} digits in {} steps: {:.2} steps/s",
        drawn.as_secs_f64(),
        digits.len(),
        args.steps,
        args.steps as f64 / drawn.as_secs_f64()
    );
    println!("picture:   {}", args.output.display());
    Ok(())
}

/// Numbers of a standard normal distribution (Box, Muller 1958).
fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut number = || {
        // Never 0, whose logarithm is none.
        let radius = (-2.0 * (1.0 - random.f32()).ln()).sqrt();
        radius * (TAU * random.f32()).cos()
    };
    (0..count).map(|_| number()).collect()
}

/// Writes the pictures, so many in a row, in shades of grey.
fn save(path: &Path, columns: usize, pictures: &[f32]) -> anyhow::Result<()> {
    let cell = SIZE * PIXEL + GAP;
    let (width, height) = (
        columns * cell + GAP,
        pictures.len() / (SIZE * SIZE) / columns * cell + GAP,
    );
    let mut sheet = vec![64_u8; width * height];
    for (index, picture) in pictures.chunks_exact(SIZE * SIZE).enumerate() {
        let (top, left) = (GAP + index / columns * cell, GAP + index % columns * cell);
        for (y, row) in (0..SIZE * PIXEL).map(|y| (y, &picture[y / PIXEL * SIZE..][..SIZE])) {
            let line = &mut sheet[(top + y) * width + left..][..SIZE * PIXEL];
            for (x, shade) in line.iter_mut().enumerate() {
                *shade = ((row[x / PIXEL] + 1.0) * 127.5).clamp(0.0, 255.0) as u8;
            }
        }
    }
    let file = File::create(path).with_context(|| format!("could not create {}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), u32::try_from(width)?, u32::try_from(height)?);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header()?.write_image_data(&sheet)?;
    Ok(())
}
