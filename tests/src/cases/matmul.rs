//! `matmul`, `matmul_tiled`: square matrices of `n` rows.

use crate::cases::uniform;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use kernels_gpu::matmul::{TILE, matmul, matmul_tiled};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module};

const SIZES: &[usize] = &[1, 15, 16, 17, 40, 64];
const BENCH: [usize; 2] = [256, 2048];
const COST: fn(usize) -> Cost = |n| Cost { bytes: 12 * (n * n) as u64, flops: 2 * (n * n * n) as u64 };

pub(super) const NAIVE: Case = Case {
    name: "matmul",
    sizes: SIZES,
    bench: BENCH,
    cost: COST,
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n, false)?)),
};

pub(super) const TILED: Case = Case {
    name: "matmul_tiled",
    sizes: SIZES,
    bench: BENCH,
    cost: COST,
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n, true)?)),
};

struct Data {
    module: Module,
    tiled: bool,
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    reference: Vec<f32>,
    a_device: DeviceBuffer<f32>,
    b_device: DeviceBuffer<f32>,
    c_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize, tiled: bool) -> Result<Self> {
        let (a, b) = (uniform(n * n, 1), uniform(n * n, 2));
        Ok(Self {
            module: module.clone(),
            tiled,
            n,
            a_device: device.buffer_from(&a)?,
            b_device: device.buffer_from(&b)?,
            c_device: device.zeros(n * n)?,
            reference: vec![0.0; n * n],
            a,
            b,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let (n, inner) = (self.n as u32, self.n as u32);
        let c = (&mut self.c_device, [self.n, self.n]);
        let call = if self.tiled {
            matmul_tiled(&self.a_device, &self.b_device, inner, c)
        } else {
            matmul(&self.a_device, &self.b_device, inner, c)
        };
        Ok(self.module.launch(LaunchConfig::covering((n, n)).block((TILE as u32, TILE as u32)), call)?)
    }

    fn native(&mut self) {
        multiply(&self.a, &self.b, &mut self.reference, self.n);
    }

    fn verify(&self) -> Result<()> {
        // The kernels add up in the same order, but with fused multiply-add.
        let tolerance = Tolerance::Near { absolute: 1e-7 * self.n as f64, relative: 0.0 };
        compare(&self.c_device.to_vec()?, &self.reference, tolerance)
    }
}

/// `c = a b` on the CPU, for matrices of `n` rows and columns.
pub(super) fn multiply(a: &[f32], b: &[f32], c: &mut [f32], n: usize) {
    c.par_chunks_mut(n).zip(a.par_chunks(n)).for_each(|(c, a)| {
        c.fill(0.0);
        for (a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (c, b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    });
}
