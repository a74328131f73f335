//! Draws a picture of a text by Stable Diffusion, or a sheet of digits by the small model that comes along.

mod compare;
mod sheet;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use cuda_std::half::{bf16, f16};
use diffusion::{Event, Folder, Picture, Pipeline, Request, Sampler, Source, normal};
use indicatif::{ProgressBar, ProgressStyle};
use rumba::Device;
use rumba_nn::{Element, Nn};
use std::path::PathBuf;
use std::time::Instant;

/// Draws a picture of a text by Stable Diffusion 1 or 2, from a folder of weights in the layout of diffusers; or, without one, a sheet of
/// digits by a small model that comes along
#[derive(Parser)]
#[command(after_help = "Examples:
  cargo xtask run diffusion
  cargo xtask run diffusion -- --columns 40 --seed 7 --out digits.png
  cargo xtask run diffusion -- --weights stable-diffusion-v1-5 \"a lighthouse in a storm, oil on canvas\"
  cargo xtask run diffusion --device gpu -- --weights sd21 --size 768x512 --negative blurry --sampler euler \"a cat\"
  cargo xtask run diffusion -- --weights sd15 --image photo.png --strength 0.6 \"the same in watercolour\"

A folder of weights has text_encoder, tokenizer, unet, vae and scheduler, as diffusers' `save_pretrained` writes them. Nothing is fetched.")]
struct Args {
    /// What the picture shows
    #[arg(requires = "weights")]
    prompt: Option<String>,
    /// The folder of a pipeline, with weights in the format safetensors
    #[arg(long, value_name = "DIR", requires = "prompt")]
    weights: Option<PathBuf>,
    /// What the picture does not show
    #[arg(long, value_name = "TEXT", default_value = "", requires = "weights")]
    negative: String,
    /// Columns and rows of the picture [default: those that the networks were trained on, or about those of --image]
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = size, requires = "weights")]
    size: Option<[usize; 2]>,
    /// How the picture is drawn [default: what the folder says, if it is one of these, otherwise dpm]
    #[arg(long, value_enum, requires = "weights")]
    sampler: Option<SamplerName>,
    /// A picture to begin with instead of noise: a PNG
    #[arg(long, value_name = "FILE", requires = "weights")]
    image: Option<PathBuf>,
    /// How much of that picture is drawn anew: from 0 to 1
    #[arg(long, default_value_t = 0.75, requires = "image")]
    strength: f64,
    /// Steps from noise to a picture [default: 20, or 6 for digits]
    #[arg(long)]
    steps: Option<usize>,
    /// How much more a picture is to show its text, or digit, than any. Other values than 1 take twice as long [default: 7.5, or 2 for
    /// digits]
    #[arg(long)]
    guidance: Option<f64>,
    /// The noise; each seed has its own
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The numbers that layers compute in; sums are f32 in all [default: f16 for a picture on a GPU, else f32]
    #[arg(long, value_enum)]
    numbers: Option<Numbers>,
    /// How many there are of each digit
    #[arg(long, default_value_t = 6, conflicts_with = "weights")]
    columns: usize,
    /// Do not draw each digit once more on one core, on all cores and on a GPU, to print the times side by side
    #[arg(long, conflicts_with = "weights")]
    alone: bool,
    /// Draw each digit once, and print what that takes for a process that compares
    #[arg(long, hide = true, conflicts_with_all = ["weights", "columns", "out"])]
    times: bool,
    /// The picture [default: target/picture.png, or target/digits.png]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Numbers {
    F32,
    F16,
    Bf16,
}

#[derive(Clone, Copy, ValueEnum)]
enum SamplerName {
    /// DDIM
    Ddim,
    /// Euler's method
    Euler,
    /// DPM-Solver++ (2M)
    Dpm,
}

impl From<SamplerName> for Sampler {
    fn from(name: SamplerName) -> Sampler {
        match name {
            SamplerName::Ddim => Sampler::Ddim,
            SamplerName::Euler => Sampler::Euler,
            SamplerName::Dpm => Sampler::Dpm,
        }
    }
}

/// Rows and columns of `COLUMNSxROWS`.
fn size(text: &str) -> Result<[usize; 2], String> {
    let numbers = text.split_once('x').and_then(|(columns, rows)| {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        Some([number(rows)?, number(columns)?])
    });
    numbers.ok_or_else(|| "a size is two numbers, such as 512x768".to_owned())
}

fn main() -> Result<()> {
    sigpipe::reset();
    let args = Args::parse();
    let device = Device::new()?;
    let nn = Nn::new(&device)?;
    match (&args.weights, &args.prompt) {
        (Some(weights), Some(prompt)) => {
            let folder = Folder::open(weights)?;
            // A GPU has units for products of f16; without them f32 is faster.
            let usual = if device.capacity()?.is_software() { Numbers::F32 } else { Numbers::F16 };
            match args.numbers.unwrap_or(usual) {
                Numbers::F32 => draw::<f32>(&nn, folder, prompt, &args),
                Numbers::F16 => draw::<f16>(&nn, folder, prompt, &args),
                Numbers::Bf16 => draw::<bf16>(&nn, folder, prompt, &args),
            }
        }
        _ => match args.numbers.unwrap_or(Numbers::F32) {
            Numbers::F32 => sheet::draw::<f32>(&nn, &args),
            Numbers::F16 => sheet::draw::<f16>(&nn, &args),
            Numbers::Bf16 => sheet::draw::<bf16>(&nn, &args),
        },
    }
}

/// The output file: `--out` if given, otherwise a file in `target`.
fn out(args: &Args, name: &str) -> Result<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let folder = PathBuf::from("target");
    std::fs::create_dir_all(&folder).context("the folder `target` cannot be made; --out FILE names another place")?;
    Ok(folder.join(name))
}

/// A bar of so many steps.
fn bar(steps: usize, message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} steps, {per_sec}, {eta} left");
    let bar = ProgressBar::new(steps as u64).with_style(style.expect("the template is constant"));
    bar.set_message(message);
    bar.tick();
    bar
}

/// Draws a picture of a text.
fn draw<T: Element>(nn: &Nn, folder: Folder, prompt: &str, args: &Args) -> Result<()> {
    let count = args.steps.unwrap_or(20);
    let guidance = args.guidance.unwrap_or(7.5);
    ensure!(guidance.is_finite(), "guidance is a finite number");
    let sampler = match (args.sampler, folder.schedule.sampler()) {
        (Some(name), _) => name.into(),
        (None, Some(own)) => own,
        (None, None) => Sampler::Dpm,
    };
    let trained = folder.size;
    let bar = bar(count, "reading weights");
    let begin = Instant::now();
    let pipeline = Pipeline::<T>::open(nn, folder)?;
    let loaded = begin.elapsed();

    let image = args.image.as_deref().map(Picture::read).transpose()?;
    let size = match (args.size, &image) {
        (Some(size), _) => size,
        (None, Some(image)) => pipeline.nearest([image.rows, image.columns]),
        (None, None) => [trained; 2],
    };
    let len = pipeline.latents(size)?.iter().product();
    // The noise and the sample differ, if there is a picture.
    let numbers = normal(args.seed, 2 * len);
    let (noise, sample) = numbers.split_at(len);
    let pixels = image.map(|image| image.resized(size).numbers());
    let source = match &pixels {
        Some(pixels) => Source::Picture { pixels, strength: args.strength, sample, noise },
        None => Source::Noise(noise),
    };
    let request = Request { prompt, negative: &args.negative, guidance, size, sampler, steps: count, source };
    bar.set_message("reading the text");
    let (mut launches, mut steps) = (0, 0);
    let mut before = Instant::now();
    let begin = Instant::now();
    let (mut recorded, mut drawn) = (before, before);
    let drawing = pipeline.draw(&request, |event| {
        match event {
            Event::Read(count) => {
                steps = count;
                bar.set_length(count as u64);
                bar.set_message("recording");
                before = Instant::now();
            }
            Event::Recorded(count) => {
                launches = count;
                bar.set_message("drawing");
                bar.reset();
                recorded = Instant::now();
            }
            Event::Step => {
                bar.inc(1);
                drawn = Instant::now();
            }
        }
        bar.tick();
    })?;
    let end = Instant::now();
    bar.finish_and_clear();
    if drawing.cut > 0 {
        eprintln!("note: the texts are too long; the last {} words of them were left out", drawing.cut);
    }
    let out = out(args, "picture.png")?;
    Picture::of_numbers(&drawing.pixels, size).write(&out)?;
    let seconds = (drawn - recorded).as_secs_f64();
    println!("device:    {}", nn.device().name());
    println!("weights:   {:.2} s, {}", loaded.as_secs_f64(), pipeline.folder().path().display());
    println!("texts:     {:.2} s", (before - begin).as_secs_f64());
    println!("recording: {:.2} s, a graph of {launches} launches", (recorded - before).as_secs_f64());
    println!("drawing:   {seconds:.2} s, {steps} steps of {sampler}: {:.2} steps/s", steps as f64 / seconds);
    println!("decoding:  {:.2} s", (end - drawn).as_secs_f64());
    println!("picture:   {}, {}x{}", out.display(), size[1], size[0]);
    Ok(())
}
