//! A sparse matrix times a vector: the matrix of a grid of points, each with its four neighbours.

use clap::Parser;
use gallery::{Options, close, time};
use kernels_gpu::spmv::spmv;
use rumba::Out;

/// Multiplies a sparse matrix by a vector
#[derive(Parser)]
struct Args {
    /// Points along each side of the grid; the matrix has as many rows as there are points
    #[arg(long, default_value_t = 300)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("spmv")?;
    let rows = n * n;
    let (mut starts, mut columns, mut values) = (vec![0_u32], Vec::new(), Vec::new());
    for row in 0..rows {
        for neighbour in [row.wrapping_sub(n), row.wrapping_sub(1), row, row + 1, row + n] {
            if neighbour < rows {
                columns.push(neighbour as u32);
                values.push(if neighbour == row { 4.0_f32 } else { -1.0 });
            }
        }
        starts.push(columns.len() as u32);
    }
    let x: Vec<f32> = (0..rows).map(|i| (i % 100) as f32).collect();

    let mut expected = vec![0.0; rows];
    let on_cpu = time(|| {
        for (y, bounds) in expected.iter_mut().zip(starts.windows(2)) {
            let row = bounds[0] as usize..bounds[1] as usize;
            *y = row.map(|k| values[k] * x[columns[k] as usize]).sum();
        }
    });

    let mut y = vec![0.0; rows];
    let call = spmv(&starts, &columns, &values, &x, Out(&mut y));
    let on_device = show.module().launch_timed((rows.div_ceil(256) as u32, 256), call)?;
    show.result("", rows, on_cpu, on_device, close(&y, &expected, 1e-5));
    show.finish()
}
