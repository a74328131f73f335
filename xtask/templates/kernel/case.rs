//! `NAME`.

use crate::cases::{EDGES, uniform};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::NAME::NAME;
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

/// The factor.
const A: f32 = 2.5;

pub(super) const CASE: Case = Case {
    name: "NAME",
    sizes: EDGES,
    bench: [1 << 22, 1 << 27],
    cost: |n| Cost { bytes: 8 * n as u64, flops: n as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    x: Vec<f32>,
    reference: Vec<f32>,
    x_device: DeviceBuffer<f32>,
    y_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let x = uniform(n, 1);
        Ok(Self {
            module: module.clone(),
            x_device: device.buffer_from(&x)?,
            y_device: device.zeros(n)?,
            reference: vec![0.0; n],
            x,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        Ok(self.module.for_each(self.x.len(), NAME(A, &self.x_device, &mut self.y_device))?)
    }

    fn native(&mut self) {
        self.reference.par_iter_mut().zip(&self.x).for_each(|(y, x)| *y = A * x);
    }

    fn verify(&self) -> Result<()> {
        // Bit for bit. The device computes `a * x + b` with one rounding, as `a.mul_add(x, b)` does; else allow a tolerance.
        compare(&self.y_device.to_vec()?, &self.reference, Tolerance::Exact)
    }
}
