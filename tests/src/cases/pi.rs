//! `pi`: `n` threads, rounded up to whole blocks, of 128 random points each.

use crate::cases::EDGES;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::{Result, ensure};
use kernels_gpu::pi::{pi, points_in_circle};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

const SEED: u32 = 42;
const STEPS: u32 = 64;
const BLOCK: u32 = 256;

pub(super) const CASE: Case = Case {
    name: "pi",
    sizes: EDGES,
    bench: [1 << 14, 1 << 22],
    // Nothing is read, and all of the arithmetic is on integers.
    cost: |_| Cost { bytes: 8, flops: 0 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    blocks: u32,
    reference: u64,
    hits_device: DeviceBuffer<u64>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        Ok(Self {
            module: module.clone(),
            blocks: (n as u32).div_ceil(BLOCK),
            reference: 0,
            hits_device: device.zeros(1)?,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        self.hits_device.clear()?;
        let call = pi(SEED, STEPS, &mut self.hits_device);
        Ok(self.module.launch((self.blocks, BLOCK), call)?)
    }

    fn native(&mut self) {
        let hits = |stream| (0..STEPS).map(|step| points_in_circle(SEED, stream, step)).sum::<u32>();
        self.reference = (0..self.blocks * BLOCK).into_par_iter().map(|s| u64::from(hits(s))).sum();
    }

    fn verify(&self) -> Result<()> {
        let hits = self.hits_device.to_vec()?[0];
        compare(&[hits as f64], &[self.reference as f64], Tolerance::Exact)?;
        let pi = 4.0 * hits as f64 / (2 * u64::from(STEPS * BLOCK) * u64::from(self.blocks)) as f64;
        ensure!((pi - std::f64::consts::PI).abs() < 0.05, "{pi} is not π");
        Ok(())
    }
}
