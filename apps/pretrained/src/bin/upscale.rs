//! Makes a picture twice as large by a network that was trained on photographs.

use clap::Parser;
use diffusion::Picture;
use pretrained::Upscaler;
use rumba::Device;
use rumba_nn::Nn;
use std::path::PathBuf;
use std::time::Instant;

/// Makes a picture twice as large by a published network, beside what a cubic filter makes of it
#[derive(Parser)]
#[command(after_help = "Examples:
  cargo xtask setup --models
  cargo xtask run upscale
  cargo xtask run upscale -- photo.png --out larger.png")]
struct Args {
    /// A picture: a PNG
    #[arg(default_value = "target/models/esrgan/picture.png")]
    picture: PathBuf,
    /// The network, as TensorFlow.js writes it
    #[arg(long, value_name = "FILE", default_value = "target/models/esrgan/model.json")]
    model: PathBuf,
    /// The larger picture
    #[arg(long, value_name = "FILE", default_value = "target/upscaled.png")]
    out: PathBuf,
    /// The same on the right, and what a cubic filter makes of it on the left
    #[arg(long, value_name = "FILE", default_value = "target/upscaled-beside.png")]
    beside: PathBuf,
}

fn main() -> anyhow::Result<()> {
    sigpipe::reset();
    let args = Args::parse();
    let nn = Nn::new(&Device::new()?)?;
    let upscaler = Upscaler::<f32>::open(&nn, &args.model)?;
    let picture = Picture::read(&args.picture)?;
    // The network was trained on numbers from 0 to 255.
    let pixels: Vec<f32> = picture.pixels.iter().map(|&shade| f32::from(shade)).collect();
    let begin = Instant::now();
    let (larger, size) = upscaler.upscale(&pixels, [picture.rows, picture.columns])?;
    let seconds = begin.elapsed().as_secs_f64();
    let numbers: Vec<f32> = larger.iter().map(|shade| shade / 255.0).collect();
    let larger = Picture::of_numbers(&numbers, size);
    larger.write(&args.out)?;
    beside(&picture.resized(size), &larger).write(&args.beside)?;
    println!("device:  {}", nn.device().name());
    println!(
        "picture: {}x{} pixels to {}x{} in {seconds:.2} s",
        picture.columns, picture.rows, larger.columns, larger.rows
    );
    println!("written: {}, and beside a cubic filter's {}", args.out.display(), args.beside.display());
    Ok(())
}

/// Two pictures of one size beside each other.
fn beside(left: &Picture, right: &Picture) -> Picture {
    let row = 3 * left.columns;
    let rows = left.pixels.chunks_exact(row).zip(right.pixels.chunks_exact(row));
    Picture {
        columns: 2 * left.columns,
        rows: left.rows,
        pixels: rows.flat_map(|(left, right)| [left, right].concat()).collect(),
    }
}
