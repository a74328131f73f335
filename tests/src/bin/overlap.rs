//! The same work twice, as a profile: all at once, and in chunks on streams of their own, so that copies and kernels overlap.
//! `overlap FOLDER` writes what `rumba::Profile::save` writes; the book shows the timeline.

use anyhow::{Context, Result};
use kernels_gpu::saxpy::saxpy;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module, PinnedBuffer, Stream, nvtx::range, profile};
use rumba_tests::PTX;

/// Elements on a GPU, and on the software device.
const SIZES: [usize; 2] = [1 << 26, 1 << 18];
const CHUNKS: usize = 8;
/// Launches for each chunk, enough to be visible in the timeline.
const STEPS: usize = 8;

struct Work {
    device: Device,
    module: Module,
    streams: Vec<Stream>,
    input: PinnedBuffer<f32>,
    output: PinnedBuffer<f32>,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).context("give the folder of the profile")?;
    let device = Device::new()?;
    let n = SIZES[usize::from(device.capacity()?.is_software())];
    let mut work = Work {
        module: device.load(PTX)?,
        streams: (0..3).map(|_| device.stream()).collect::<rumba::Result<_>>()?,
        input: device.pinned_from(&vec![1.0_f32; n])?,
        output: device.pinned(n)?,
        x: device.buffer_from(&vec![1.0_f32; n])?,
        y: device.zeros(n)?,
        device,
    };
    // The first run loads the kernel.
    work.run(n)?;
    let (result, profile) = profile(|| {
        {
            let _range = range("all at once");
            work.run(n)?;
        }
        let _range = range("in 8 chunks on 3 streams");
        work.run(n / CHUNKS)
    })?;
    result?;
    let expected = 1.0 + STEPS as f32;
    anyhow::ensure!(work.output.iter().all(|y| *y == expected), "the result is wrong");
    let [once, chunked] = profile.ranges() else { anyhow::bail!("there are two ranges") };
    println!("{profile}");
    println!(
        "all at once {:.2?}, in chunks {:.2?}: {:.2} times as fast",
        once.duration,
        chunked.duration,
        once.duration.as_secs_f64() / chunked.duration.as_secs_f64()
    );
    Ok(profile.save(folder, None)?)
}

impl Work {
    /// `output = input + STEPS * x`, in chunks of so many elements.
    fn run(&mut self, chunk: usize) -> rumba::Result<()> {
        let Work { device, module, streams, input, output, x, y } = self;
        device.scope(|scope| {
            let chunks = y.as_slice_mut().chunks_mut(chunk).zip(output.chunks_mut(chunk));
            for (index, (mut y, output)) in chunks.enumerate() {
                let (stream, start) = (&streams[index % streams.len()], index * chunk);
                scope.copy_in(&input[start..start + y.len()], y.reborrow(), stream)?;
                for _ in 0..STEPS {
                    let x = x.slice(start..start + y.len());
                    module.launch(LaunchConfig::for_each(y.len()).stream(stream), saxpy(1.0, x, y.reborrow()))?;
                }
                scope.copy_out(y.as_slice(), output, stream)?;
            }
            Ok(())
        })
    }
}
