//! `mandelbrot`: an image of `n` by `n` pixels.

use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::mandelbrot::{Region, escape, mandelbrot};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module};

const LIMIT: u32 = 256;

pub(super) const CASE: Case = Case {
    name: "mandelbrot",
    sizes: &[1, 17, 64],
    bench: [1024, 8192],
    // The operations depend on the image; the bytes written do not.
    cost: |n| Cost { bytes: 4 * (n * n) as u64, flops: 0 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    n: usize,
    region: Region,
    reference: Vec<u32>,
    device: DeviceBuffer<u32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let region = Region { left: -2.2, top: 1.5, step: 3.0 / n as f32 };
        Ok(Self { module: module.clone(), n, region, reference: vec![0; n * n], device: device.zeros(n * n)? })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let n = self.n as u32;
        let call = mandelbrot(self.region, LIMIT, (&mut self.device, [self.n, self.n]));
        Ok(self.module.launch(LaunchConfig::covering((n, n)).block((32, 8)), call)?)
    }

    fn native(&mut self) {
        let region = self.region;
        self.reference.par_chunks_mut(self.n).enumerate().for_each(|(y, row)| {
            for (x, count) in row.iter_mut().enumerate() {
                let (re, im) = (region.left + x as f32 * region.step, region.top - y as f32 * region.step);
                *count = escape(re, im, LIMIT);
            }
        });
    }

    fn verify(&self) -> Result<()> {
        // The kernel contracts multiplication and addition, so points next to the set's edge may escape at another step.
        compare(&self.device.to_vec()?, &self.reference, Tolerance::AllBut { one_in: 50 })
    }
}
