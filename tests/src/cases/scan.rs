//! `scan`: sums that wrap around, of `n` integers.

use crate::cases::{EDGES, integers};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::scan::{BLOCK, TILE, places, scan};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

pub(super) const CASE: Case = Case {
    name: "scan",
    sizes: EDGES,
    bench: [1 << 22, 1 << 28],
    cost: |n| Cost { bytes: 8 * n as u64, flops: 0 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

/// Elements that a thread of the reference scans at a time.
const CHUNK: usize = 1 << 14;

struct Data {
    module: Module,
    x: Vec<u32>,
    reference: Vec<u32>,
    x_device: DeviceBuffer<u32>,
    published_device: DeviceBuffer<u64>,
    sums_device: DeviceBuffer<u32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let x = integers(n, 1);
        Ok(Self {
            module: module.clone(),
            reference: vec![0; x.len()],
            x_device: device.buffer_from(&x)?,
            published_device: device.zeros(places(x.len()))?,
            sums_device: device.zeros(x.len())?,
            x,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        self.published_device.clear()?;
        let blocks = self.x.len().div_ceil(TILE) as u32;
        let call = scan(&self.x_device, &mut self.published_device, &mut self.sums_device);
        Ok(self.module.launch((blocks, BLOCK as u32), call)?)
    }

    fn native(&mut self) {
        let add = |sum: u32, x: &u32| sum.wrapping_add(*x);
        let totals: Vec<u32> = self.x.par_chunks(CHUNK).map(|chunk| chunk.iter().fold(0, add)).collect();
        let mut start = 0;
        let starts: Vec<u32> = totals
            .iter()
            .map(|total| {
                let before = start;
                start = add(start, total);
                before
            })
            .collect();
        let chunks = self.x.par_chunks(CHUNK).zip(self.reference.par_chunks_mut(CHUNK));
        chunks.zip(starts).for_each(|((x, sums), mut sum)| {
            for (x, out) in x.iter().zip(sums) {
                sum = add(sum, x);
                *out = sum;
            }
        });
    }

    fn verify(&self) -> Result<()> {
        compare(&self.sums_device.to_vec()?, &self.reference, Tolerance::Exact)
    }
}
