//! `radix`: `radix_count`, `scan` and `radix_scatter` four times, which sorts `n` keys.

use crate::cases::{EDGES, integers};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::radix_sort::{DIGITS, TILE, radix_count, radix_scatter};
use kernels_gpu::scan::{self, scan};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

pub(super) const CASE: Case = Case {
    name: "radix",
    sizes: EDGES,
    bench: [1 << 18, 1 << 26],
    // Each of four steps reads the keys twice and writes them once.
    cost: |n| Cost { bytes: 4 * 12 * n as u64, flops: 0 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    keys: Vec<u32>,
    reference: Vec<u32>,
    keys_device: DeviceBuffer<u32>,
    /// The outputs of the steps, alternating; the last step writes the second.
    sorted_device: [DeviceBuffer<u32>; 2],
    counts_device: DeviceBuffer<u32>,
    ends_device: DeviceBuffer<u32>,
    published_device: DeviceBuffer<u64>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let keys = integers(n, 1);
        let counts = DIGITS * n.div_ceil(TILE);
        Ok(Self {
            module: module.clone(),
            reference: vec![0; n],
            keys_device: device.buffer_from(&keys)?,
            sorted_device: [device.zeros(n)?, device.zeros(n)?],
            counts_device: device.zeros(counts)?,
            ends_device: device.zeros(counts)?,
            published_device: device.zeros(scan::places(counts))?,
            keys,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let blocks = self.keys.len().div_ceil(TILE) as u32;
        let threads = (blocks, DIGITS as u32);
        let [first, second] = &mut self.sorted_device;
        for step in 0..4 {
            let shift = 8 * step;
            let (from, to) = match step {
                0 => (&self.keys_device, &mut *first),
                1 | 3 => (&*first, &mut *second),
                _ => (&*second, &mut *first),
            };
            self.module.launch(threads, radix_count(from, shift, &mut self.counts_device))?;
            self.published_device.clear()?;
            let tiles = self.counts_device.len().div_ceil(scan::TILE) as u32;
            let scan = scan(&self.counts_device, &mut self.published_device, &mut self.ends_device);
            self.module.launch((tiles, scan::BLOCK as u32), scan)?;
            self.module.launch(threads, radix_scatter(from, shift, &self.ends_device, to))?;
        }
        Ok(())
    }

    fn native(&mut self) {
        self.reference.copy_from_slice(&self.keys);
        self.reference.par_sort_unstable();
    }

    fn verify(&self) -> Result<()> {
        compare(&self.sorted_device[1].to_vec()?, &self.reference, Tolerance::Exact)
    }
}
