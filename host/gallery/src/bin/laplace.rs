//! Heat that spreads over a plate, and in a block: many steps, in two arrays that take turns.

use bytemuck::cast_slice;
use clap::Parser;
use cuda_std::vector::vectors;
use gallery::{Options, close, time};
use kernels_gpu::laplace::{laplace_2d, laplace_3d};
use rumba::LaunchConfig;

/// Makes each point the mean of its neighbours, again and again
#[derive(Parser)]
struct Args {
    /// Points along each side of the plate, rounded up to fours; the block has a tenth of it
    #[arg(long, default_value_t = 512)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

const STEPS: usize = 10;

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("laplace")?;
    for (what, shape) in
        [("2-D", [1, n, n.next_multiple_of(4)]), ("3-D", [n / 10, n / 10, (n / 10).next_multiple_of(4)])]
    {
        let [layers, rows, columns] = shape;
        // The first row is hot.
        let start: Vec<f32> = (0..layers * rows * columns).map(|i| f32::from(u8::from(i < columns))).collect();
        let mut expected = start.clone();
        let on_cpu = time(|| (0..STEPS).for_each(|_| expected = step(&expected, shape)));

        let vectors = vectors(&start);
        let mut before = show.device().buffer_from(&vectors)?;
        let mut after = before.try_clone()?;
        let [x, y, z] = [columns / 4, rows, layers.div_ceil(4)].map(|length| length as u32);
        let config = LaunchConfig::covering((x, y, z)).block((32, 8));
        let mut on_device = rumba::Timings::default();
        for _ in 0..STEPS {
            let call = match layers {
                1 => laplace_2d(&before, (&mut after, [rows, columns / 4])),
                _ => laplace_3d(&before, (&mut after, [layers, rows, columns / 4])),
            };
            on_device.kernel += show.module().launch_timed(config, call)?.kernel;
            std::mem::swap(&mut before, &mut after);
        }
        let result = before.to_vec()?;
        let agreed = close::<f32>(cast_slice(&result), &expected, 1e-5);
        show.result(what, start.len(), on_cpu, on_device, agreed);
    }
    show.finish()
}

/// A step on the CPU.
fn step(before: &[f32], [layers, rows, columns]: [usize; 3]) -> Vec<f32> {
    let mut after = before.to_vec();
    let flat = layers == 1;
    for z in if flat { 0..1 } else { 1..layers - 1 } {
        for y in 1..rows - 1 {
            let start = (z * rows + y) * columns;
            for i in start + 1..start + columns - 1 {
                let mut sum = (before[i - 1] + before[i + 1]) + (before[i - columns] + before[i + columns]);
                if !flat {
                    sum += before[i - rows * columns] + before[i + rows * columns];
                }
                after[i] = sum / if flat { 4.0 } else { 6.0 };
            }
        }
    }
    after
}
