//! `reduce`: partial sums of blocks, which the host adds up.

use crate::cases::{EDGES, uniform};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::reduce::reduce;
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

/// Threads of a block.
const BLOCK: u32 = 256;

pub(super) const CASE: Case = Case {
    name: "reduce",
    sizes: EDGES,
    bench: [1 << 24, 1 << 28],
    cost: |n| Cost { bytes: 4 * n as u64, flops: n as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    blocks: u32,
    x: Vec<f32>,
    reference: f64,
    x_device: DeviceBuffer<f32>,
    sums_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let x = uniform(n, 1);
        // A few blocks for each multiprocessor go around the input several times.
        let blocks = (n as u32).div_ceil(BLOCK).min(8 * device.limits().multiprocessors_at_once);
        Ok(Self {
            module: module.clone(),
            blocks,
            reference: 0.0,
            x_device: device.buffer_from(&x)?,
            sums_device: device.zeros(blocks as usize)?,
            x,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        Ok(self.module.launch((self.blocks, BLOCK), reduce(&self.x_device, &mut self.sums_device))?)
    }

    fn native(&mut self) {
        self.reference =
            self.x.par_chunks(1 << 14).map(|chunk| chunk.iter().copied().map(f64::from).sum::<f64>()).sum();
    }

    fn verify(&self) -> Result<()> {
        let sum: f64 = self.sums_device.to_vec()?.into_iter().map(f64::from).sum();
        // Each addition in single precision may lose half a unit in the last place of a partial sum.
        let tolerance = Tolerance::Near { absolute: 1e-7 * self.x.len() as f64, relative: 0.0 };
        compare(&[sum], &[self.reference], tolerance)
    }
}
