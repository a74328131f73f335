//! A sheet of digits, a row for each.

use crate::{Args, bar};
use anyhow::{Result, ensure};
use diffusion::digits::{SIZE, Sampler};
use diffusion::{Picture, normal};
use rumba_nn::{Element, Nn};
use std::time::Instant;

/// How much larger pixels are drawn, and what lies between pictures.
const PIXEL: usize = 6;
const GAP: usize = 6;

/// Draws the sheet.
pub(crate) fn draw<T: Element>(nn: &Nn, args: &Args) -> Result<()> {
    let count = args.steps.unwrap_or(8);
    ensure!(
        args.columns > 0 && count > 0,
        "a sheet has a column at least, and is drawn in a step at least"
    );
    let digits: Vec<u32> = (0..10)
        .flat_map(|digit| std::iter::repeat_n(digit, args.columns))
        .collect();
    let bar = bar(count, "recording");
    let begin = Instant::now();
    let mut sampler = Sampler::new::<T>(nn, &digits, args.guidance.unwrap_or(1.0) as f32)?;
    nn.device().synchronize()?;
    let recorded = begin.elapsed();
    let noise = normal(args.seed, digits.len() * SIZE * SIZE);
    let begin = Instant::now();
    sampler.start(&noise)?;
    nn.device().synchronize()?;
    let sent = begin.elapsed();
    bar.set_message("drawing");
    bar.reset();
    let begin = Instant::now();
    sampler.run(count, || bar.inc(1))?;
    let drawn = begin.elapsed();
    let begin = Instant::now();
    let pictures = sampler.pictures()?;
    let transfers = sent + begin.elapsed();
    bar.finish_and_clear();

    let out = args.out.clone().unwrap_or_else(|| "target/digits.png".into());
    sheet(args.columns, &pictures).write(&out)?;
    let graph = sampler.program().graph();
    println!("device:    {}", nn.device().name());
    println!(
        "recording: {:.2} s, a graph of {} launches with {:.1} MB for its tensors",
        recorded.as_secs_f64(),
        graph.len(),
        sampler.program().bytes() as f64 / 1e6
    );
    println!(
        "drawing:   {:.2} s, {} digits in {count} steps: {:.2} steps/s",
        drawn.as_secs_f64(),
        digits.len(),
        count as f64 / drawn.as_secs_f64()
    );
    println!(
        "transfers: {:.6} s, of noise and of the pictures",
        transfers.as_secs_f64()
    );
    println!("picture:   {}", out.display());
    Ok(())
}

/// The pictures, so many in a row, in shades of grey.
fn sheet(columns: usize, pictures: &[f32]) -> Picture {
    let cell = SIZE * PIXEL + GAP;
    let (width, height) = (
        columns * cell + GAP,
        pictures.len() / (SIZE * SIZE) / columns * cell + GAP,
    );
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
