//! A matrix turned over its diagonal, by way of tiles in shared memory.

use clap::Parser;
use gallery::{Options, same, time};
use kernels_gpu::transpose::{TILE, transpose};
use rumba::{LaunchConfig, Out};

/// Transposes a matrix
#[derive(Parser)]
struct Args {
    /// Rows of the matrix; it has twice as many columns
    #[arg(long, default_value_t = 1000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("transpose")?;
    let (rows, columns) = (n, 2 * n);
    let input: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();

    let mut expected = vec![0.0; input.len()];
    let on_cpu = time(|| {
        for (y, row) in input.chunks_exact(columns.max(1)).enumerate() {
            for (x, element) in row.iter().enumerate() {
                expected[x * rows + y] = *element;
            }
        }
    });

    let tiles = |length: usize| length.div_ceil(TILE) as u32;
    let blocks = LaunchConfig::grid((tiles(columns), tiles(rows)));
    let mut output = vec![0.0; input.len()];
    let call = transpose(&input, (Out(&mut output), [columns, rows]));
    let on_device = show.module().launch_timed(blocks, call)?;
    show.result("", input.len(), on_cpu, on_device, same(&output, &expected));
    show.finish()
}
