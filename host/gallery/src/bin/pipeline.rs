//! Copies that overlap kernels: the same work at once on one stream, and in chunks on several.
//!
//! On a stream each chunk is copied in, computed and copied out in order. While one stream computes, another copies in and a
//! third copies out: a GPU has engines for both directions beside its multiprocessors.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::increment::increment_f32;
use rumba::{DeviceBuffer, LaunchConfig, PinnedBuffer, Stream, Timings};
use std::time::Instant;

/// Copies an array in, adds 1 to each element and copies it out, at once and in chunks on several streams
#[derive(Parser)]
struct Args {
    /// Elements of the array
    #[arg(long, default_value_t = 10_000_000)]
    n: usize,
    /// Chunks
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    chunks: u32,
    /// Streams, which take the chunks in turn
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    streams: u32,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, chunks, streams, options } = Args::parse();
    let mut show = options.start("pipeline")?;
    let device = show.device().clone();
    let input = device.pinned_from(&(0..n).map(|i| (i % 1000) as f32).collect::<Vec<f32>>())?;
    let mut output = device.pinned::<f32>(n)?;
    let mut buffer = device.zeros::<f32>(n)?;
    let streams: Vec<Stream> = (0..streams).map(|_| device.stream()).collect::<Result<_, _>>()?;
    show.warm_up(increment_f32(&mut buffer))?;

    let mut expected = input.to_vec();
    let on_cpu = time(|| expected.iter_mut().for_each(|a| *a += 1.0));

    let at_once = run(&show, &input, &mut buffer, &mut output, n.max(1), &streams[..1])?;
    show.result("at once", n, on_cpu, at_once, same(&output, &expected));

    output.fill(0.0);
    let chunk = n.div_ceil(chunks as usize).max(1);
    let in_chunks = run(&show, &input, &mut buffer, &mut output, chunk, &streams)?;
    show.result("in chunks", n, on_cpu, in_chunks, same(&output, &expected));
    show.note(&format!(
        "in chunks, copies and kernels overlap: their times are one, which stands under `kernel`; {:.2} times as fast as at once",
        at_once.total().as_secs_f64() / in_chunks.total().as_secs_f64()
    ));
    show.finish()
}

/// Copies in, computes and copies out, chunk by chunk on the streams in turn. With one chunk the parts are told apart.
fn run(
    show: &gallery::Showcase,
    input: &PinnedBuffer<f32>,
    buffer: &mut DeviceBuffer<f32>,
    output: &mut PinnedBuffer<f32>,
    chunk: usize,
    streams: &[Stream],
) -> rumba::Result<Timings> {
    let mut marks = Vec::new();
    let start = Instant::now();
    show.device().scope(|scope| {
        let parts = input.chunks(chunk).zip(output.chunks_mut(chunk));
        let on_device = buffer.as_slice_mut().chunks_mut(chunk);
        for ((mut on_device, (input, output)), stream) in on_device.zip(parts).zip(streams.iter().cycle()) {
            marks.push(stream.record()?);
            scope.copy_in(input, on_device.reborrow(), stream)?;
            marks.push(stream.record()?);
            let threads = LaunchConfig::for_each(on_device.len()).stream(stream);
            show.module().launch(threads, increment_f32(on_device.reborrow()))?;
            marks.push(stream.record()?);
            scope.copy_out(on_device.as_slice(), output, stream)?;
            marks.push(stream.record()?);
        }
        Ok(())
    })?;
    let all = start.elapsed();
    Ok(match &marks[..] {
        [start, copied, computed, end] => {
            Timings { copy_in: copied.since(start)?, kernel: computed.since(copied)?, copy_out: end.since(computed)? }
        }
        _ => Timings { kernel: all, ..Timings::default() },
    })
}
