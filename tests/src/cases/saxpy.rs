//! `saxpy`.

use crate::cases::{EDGES, uniform};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::saxpy::saxpy;
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

const A: f32 = 2.5;

pub(super) const CASE: Case = Case {
    name: "saxpy",
    sizes: EDGES,
    bench: [1 << 23, 1 << 27],
    cost: |n| Cost { bytes: 12 * n as u64, flops: 2 * n as u64 },
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
        let (x, y) = (uniform(n, 1), uniform(n, 2));
        Ok(Self {
            module: module.clone(),
            x_device: device.buffer_from(&x)?,
            y_device: device.buffer_from(&y)?,
            reference: y,
            x,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        Ok(self.module.for_each(self.x.len(), saxpy(A, &self.x_device, &mut self.y_device))?)
    }

    fn native(&mut self) {
        let pairs = self.reference.par_iter_mut().zip(&self.x);
        pairs.with_min_len(1 << 14).for_each(|(y, x)| *y += A * x);
    }

    fn verify(&self) -> Result<()> {
        // The kernel's multiplication and addition are contracted and round once, the reference twice.
        compare(&self.y_device.to_vec()?, &self.reference, Tolerance::Near { absolute: 3e-7, relative: 0.0 })
    }
}
