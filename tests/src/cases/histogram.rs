//! `histogram`: of `n` bytes, of which low values are the more frequent ones.

use crate::cases::EDGES;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use cuda_std::vector::{Vector4, vectors};
use kernels_gpu::histogram::{VALUES, histogram};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

pub(super) const CASE: Case = Case {
    name: "histogram",
    sizes: EDGES,
    bench: [1 << 22, 1 << 28],
    cost: |n| Cost { bytes: n as u64, flops: 0 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    blocks: u32,
    bytes: Vec<u8>,
    reference: Vec<u32>,
    bytes_device: DeviceBuffer<Vector4<u32>>,
    counts_device: DeviceBuffer<u32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let mut random = fastrand::Rng::with_seed(1);
        let mut bytes = vec![0; n.next_multiple_of(16)];
        random.fill(&mut bytes);
        for byte in bytes.iter_mut().step_by(2) {
            *byte /= 2;
        }
        let words: Vec<u32> = bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
        let vectors = vectors(&words);
        Ok(Self {
            module: module.clone(),
            // A few blocks for each multiprocessor go around the input several times.
            blocks: (vectors.len() as u32).div_ceil(VALUES as u32).min(8 * device.limits().multiprocessors_at_once),
            bytes,
            reference: vec![0; VALUES],
            bytes_device: device.buffer_from(&vectors)?,
            counts_device: device.zeros(VALUES)?,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        self.counts_device.clear()?;
        let call = histogram(&self.bytes_device, &mut self.counts_device);
        Ok(self.module.launch((self.blocks, VALUES as u32), call)?)
    }

    fn native(&mut self) {
        let count = |bytes: &[u8]| {
            let mut counts = vec![0_u32; VALUES];
            bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            counts
        };
        let add = |mut a: Vec<u32>, b: Vec<u32>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let counts = self.bytes.par_chunks(1 << 16).map(count);
        self.reference = counts.reduce(|| vec![0; VALUES], add);
    }

    fn verify(&self) -> Result<()> {
        compare(&self.counts_device.to_vec()?, &self.reference, Tolerance::Exact)
    }
}
