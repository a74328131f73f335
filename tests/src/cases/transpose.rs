//! `transpose`: a matrix of `n` rows and a few more columns.

use crate::cases::uniform;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::transpose::{TILE, transpose};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module};

pub(super) const CASE: Case = Case {
    name: "transpose",
    sizes: &[1, 31, 32, 33, 100],
    bench: [2048, 16384],
    cost: |n| Cost { bytes: 8 * (n * columns(n)) as u64, flops: 0 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

/// Differs from the number of rows, so that confusing the two shows; and no multiple of a tile if `n` is none.
fn columns(n: usize) -> usize {
    n + n / 16
}

struct Data {
    module: Module,
    n: usize,
    input: Vec<f32>,
    reference: Vec<f32>,
    input_device: DeviceBuffer<f32>,
    output_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let input = uniform(n * columns(n), 1);
        Ok(Self {
            module: module.clone(),
            n,
            reference: vec![0.0; input.len()],
            input_device: device.buffer_from(&input)?,
            output_device: device.zeros(input.len())?,
            input,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let (rows, columns) = (self.n, columns(self.n));
        let tiles = |length: usize| length.div_ceil(TILE) as u32;
        let call = transpose(&self.input_device, (&mut self.output_device, [columns, rows]));
        let config = LaunchConfig::grid((tiles(columns), tiles(rows)));
        Ok(self.module.launch(config, call)?)
    }

    fn native(&mut self) {
        let (rows, columns, input) = (self.n, columns(self.n), &self.input);
        // In strips of columns, so that what is read from one line of the cache is written soon.
        self.reference.par_chunks_mut(rows * 16).enumerate().for_each(|(strip, output)| {
            for row in 0..rows {
                for (x, line) in output.chunks_exact_mut(rows).enumerate() {
                    line[row] = input[row * columns + strip * 16 + x];
                }
            }
        });
    }

    fn verify(&self) -> Result<()> {
        compare(&self.output_device.to_vec()?, &self.reference, Tolerance::Exact)
    }
}
