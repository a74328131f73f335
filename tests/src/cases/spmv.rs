//! `spmv`: `n` rows of 0 to 64 elements, near the diagonal as in a mesh.

use crate::cases::{EDGES, uniform};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::spmv::spmv;
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

/// Elements of a row, on average.
const MEAN: usize = 32;
/// How far from the diagonal they may be.
const BAND: usize = 4096;

pub(super) const CASE: Case = Case {
    name: "spmv",
    sizes: EDGES,
    bench: [1 << 14, 1 << 21],
    cost: |n| Cost { bytes: (8 * MEAN * n + 12 * n) as u64, flops: 2 * (MEAN * n) as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
    x: Vec<f32>,
    reference: Vec<f32>,
    starts_device: DeviceBuffer<u32>,
    columns_device: DeviceBuffer<u32>,
    values_device: DeviceBuffer<f32>,
    x_device: DeviceBuffer<f32>,
    y_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let mut random = fastrand::Rng::with_seed(1);
        let mut starts = vec![0];
        let mut columns = Vec::new();
        for row in 0..n {
            let first = row.saturating_sub(BAND / 2);
            let band = first..n.min(first + BAND);
            columns.extend((0..random.usize(..=2 * MEAN)).map(|_| random.usize(band.clone()) as u32));
            starts.push(columns.len() as u32);
        }
        // A matrix without elements would be passed as no memory at all.
        columns.push(0);
        let (values, x) = (uniform(columns.len(), 2), uniform(n, 3));
        Ok(Self {
            module: module.clone(),
            reference: vec![0.0; n],
            starts_device: device.buffer_from(&starts)?,
            columns_device: device.buffer_from(&columns)?,
            values_device: device.buffer_from(&values)?,
            x_device: device.buffer_from(&x)?,
            y_device: device.zeros(n)?,
            starts,
            columns,
            values,
            x,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let call =
            spmv(&self.starts_device, &self.columns_device, &self.values_device, &self.x_device, &mut self.y_device);
        let blocks = (self.reference.len() as u32).div_ceil(256);
        Ok(self.module.launch((blocks, 256), call)?)
    }

    fn native(&mut self) {
        let (columns, values, x) = (&self.columns, &self.values, &self.x);
        let rows = self.reference.par_iter_mut().zip(self.starts.par_windows(2));
        rows.with_min_len(1 << 8).for_each(|(y, bounds)| {
            let row = bounds[0] as usize..bounds[1] as usize;
            *y = row.map(|k| values[k] * x[columns[k] as usize]).sum();
        });
    }

    fn verify(&self) -> Result<()> {
        let tolerance = Tolerance::Near { absolute: 1e-5, relative: 0.0 };
        compare(&self.y_device.to_vec()?, &self.reference, tolerance)
    }
}
