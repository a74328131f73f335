//! A sheet of digits, a row for each.

use crate::{Args, bar, compare, out};
use anyhow::{Result, ensure};
use diffusion::digits::{LATENTS, SIZE, Sampler};
use diffusion::{Picture, normal};
use indicatif::ProgressBar;
use rumba_nn::{Element, Nn};
use std::time::Instant;

/// How much larger pixels are drawn, and what lies between pictures.
const PIXEL: usize = 2;
const GAP: usize = 6;

/// Steps and guidance by which nearly all digits are recognised: the table in `digits/README.md`.
const STEPS: usize = 6;
const GUIDANCE: f64 = 2.0;

/// The phases that are timed.
pub(crate) const TIMES: [&str; 4] = ["recording", "drawing", "decoding", "transfers"];

/// How many seconds each took, and on which device: what a process prints for another.
pub(crate) type Times = ([f64; TIMES.len()], String);

/// Digits, and what they took.
struct Drawn {
    pictures: Vec<f32>,
    seconds: [f64; TIMES.len()],
    launches: usize,
    bytes: usize,
}

/// Draws the sheet, or with `--times` each digit once.
pub(crate) fn draw<T: Element>(nn: &Nn, args: &Args) -> Result<()> {
    let steps = args.steps.unwrap_or(STEPS);
    ensure!(args.columns > 0 && steps > 0, "a sheet has a column at least, and is drawn in a step at least");
    let columns = if args.times { 1 } else { args.columns };
    let digits: Vec<u32> = (0..10).flat_map(|digit| std::iter::repeat_n(digit, columns)).collect();
    let bar = if args.times { ProgressBar::hidden() } else { bar(steps, "recording") };
    let drawn = draw_digits::<T>(nn, args, &digits, steps, &bar)?;
    bar.finish_and_clear();
    if args.times {
        let times: Times = (drawn.seconds, nn.device().name().to_owned());
        println!("{}", serde_json::to_string(&times)?);
        return Ok(());
    }
    let out = out(args, "digits.png")?;
    sheet(columns, &drawn.pictures).write(&out)?;
    let [recording, drawing, decoding, transfers] = drawn.seconds;
    println!("device:    {}", nn.device().name());
    println!(
        "recording: {recording:.2} s, a graph of {} launches with {:.1} MB for its tensors",
        drawn.launches,
        drawn.bytes as f64 / 1e6
    );
    println!(
        "drawing:   {drawing:.2} s, {} digits in {steps} steps: {:.2} steps/s",
        digits.len(),
        steps as f64 / drawing
    );
    println!("decoding:  {decoding:.2} s, of latents to pictures");
    println!("transfers: {transfers:.6} s, of noise and of the pictures");
    println!("picture:   {}", out.display());
    if args.alone { Ok(()) } else { compare::print(args) }
}

fn draw_digits<T: Element>(nn: &Nn, args: &Args, digits: &[u32], steps: usize, bar: &ProgressBar) -> Result<Drawn> {
    let begin = Instant::now();
    let mut sampler = Sampler::<T>::new(nn, digits, args.guidance.unwrap_or(GUIDANCE) as f32)?;
    nn.device().synchronize()?;
    let recording = begin.elapsed();
    let noise = normal(args.seed, digits.len() * LATENTS.iter().product::<usize>());
    let begin = Instant::now();
    sampler.start(&noise)?;
    nn.device().synchronize()?;
    let sent = begin.elapsed();
    bar.set_message("drawing");
    bar.reset();
    let begin = Instant::now();
    sampler.run(steps, || bar.inc(1))?;
    let drawing = begin.elapsed();
    bar.set_message("decoding");
    let begin = Instant::now();
    sampler.decode()?;
    let decoding = begin.elapsed();
    let begin = Instant::now();
    let pictures = sampler.pictures()?;
    let transfers = sent + begin.elapsed();
    Ok(Drawn {
        pictures,
        seconds: [recording, drawing, decoding, transfers].map(|time| time.as_secs_f64()),
        launches: sampler.program().graph().len(),
        bytes: sampler.program().bytes(),
    })
}

/// The pictures, so many in a row, in shades of grey.
fn sheet(columns: usize, pictures: &[f32]) -> Picture {
    let cell = SIZE * PIXEL + GAP;
    let (width, height) = (columns * cell + GAP, pictures.len() / (SIZE * SIZE) / columns * cell + GAP);
    let mut sheet = vec![0.25_f32; width * height];
    for (index, picture) in pictures.chunks_exact(SIZE * SIZE).enumerate() {
        let (top, left) = (GAP + index / columns * cell, GAP + index % columns * cell);
        for (y, row) in (0..SIZE * PIXEL).map(|y| (y, &picture[y / PIXEL * SIZE..][..SIZE])) {
            let line = &mut sheet[(top + y) * width + left..][..SIZE * PIXEL];
            for (x, shade) in line.iter_mut().enumerate() {
                *shade = (row[x / PIXEL] + 1.0) / 2.0;
            }
        }
    }
    let pixels: Vec<f32> = sheet.iter().flat_map(|&shade| [shade; 3]).collect();
    Picture::of_numbers(&pixels, [height, width])
}
