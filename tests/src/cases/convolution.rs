//! `convolution`: an image of `n` by `n` pixels.

use crate::cases::uniform;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::convolution::{Filter, RADIUS, SIDE, TILE, convolution};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module};

pub(super) const CASE: Case = Case {
    name: "convolution",
    sizes: &[1, 31, 32, 33, 100],
    bench: [512, 8192],
    cost: |n| Cost { bytes: 8 * (n * n) as u64, flops: 2 * (SIDE * SIDE * n * n) as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    n: usize,
    filter: Filter,
    image: Vec<f32>,
    reference: Vec<f32>,
    image_device: DeviceBuffer<f32>,
    output_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let image = uniform(n * n, 1);
        let weights = uniform(SIDE * SIDE, 2);
        Ok(Self {
            module: module.clone(),
            n,
            filter: Filter(std::array::from_fn(|j| std::array::from_fn(|i| weights[j * SIDE + i]))),
            reference: vec![0.0; n * n],
            image_device: device.buffer_from(&image)?,
            output_device: device.zeros(n * n)?,
            image,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let tiles = self.n.div_ceil(TILE) as u32;
        let output = (&mut self.output_device, [self.n, self.n]);
        let call = convolution(&self.image_device, self.filter, output);
        Ok(self.module.launch(LaunchConfig::grid((tiles, tiles)), call)?)
    }

    fn native(&mut self) {
        let (n, image, filter) = (self.n, &self.image, self.filter);
        self.reference.par_chunks_mut(n).enumerate().for_each(|(y, output)| {
            output.fill(0.0);
            for (j, weights) in filter.0.iter().enumerate() {
                let Some(row) = (y + j).checked_sub(RADIUS).filter(|&row| row < n) else {
                    continue;
                };
                let row = &image[row * n..][..n];
                for (i, weight) in weights.iter().enumerate() {
                    // The pixels to which this weight applies: all but those near an edge.
                    let (from, to) = (i.saturating_sub(RADIUS).min(n), RADIUS.saturating_sub(i).min(n));
                    let count = n - from.max(to);
                    for (output, pixel) in output[to..][..count].iter_mut().zip(&row[from..][..count]) {
                        *output += weight * pixel;
                    }
                }
            }
        });
    }

    fn verify(&self) -> Result<()> {
        let tolerance = Tolerance::Near { absolute: 1e-5, relative: 0.0 };
        compare(&self.output_device.to_vec()?, &self.reference, tolerance)
    }
}
