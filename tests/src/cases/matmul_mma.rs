//! `matmul_mma`: square matrices of `n` rows, of `f16` numbers.

use crate::cases::matmul::multiply;
use crate::cases::uniform;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use cuda_std::half::f16;
use cuda_std::vector::{Vector8, padded_rows};
use kernels_gpu::matmul_mma::{TILE, matmul_mma};
use rumba::{Device, DeviceBuffer, Module};

pub(super) const CASE: Case = Case {
    name: "matmul_mma",
    // Around a vector, an accumulator, a stage and a tile.
    sizes: &[1, 7, 8, 9, 17, 31, 33, 64, 127, 128, 129, 200],
    bench: [256, 4096],
    cost: |n| Cost { bytes: 8 * (n * n) as u64, flops: 2 * (n * n * n) as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    n: usize,
    /// The numbers as rounded to `f16`.
    a: Vec<f32>,
    b: Vec<f32>,
    reference: Vec<f32>,
    a_device: DeviceBuffer<Vector8<f16>>,
    b_device: DeviceBuffer<Vector8<f16>>,
    c_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let halves = |seed| -> Vec<f16> { uniform(n * n, seed).into_iter().map(f16::from_f32).collect() };
        let (a, b) = (halves(1), halves(2));
        Ok(Self {
            module: module.clone(),
            n,
            a_device: device.buffer_from(&padded_rows(&a, n))?,
            b_device: device.buffer_from(&padded_rows(&b, n))?,
            c_device: device.zeros(n * n)?,
            reference: vec![0.0; n * n],
            a: a.into_iter().map(f16::to_f32).collect(),
            b: b.into_iter().map(f16::to_f32).collect(),
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let c = (&mut self.c_device, [self.n, self.n]);
        let tiles = self.n.div_ceil(TILE) as u32;
        let call = matmul_mma(&self.a_device, &self.b_device, self.n as u32, c);
        Ok(self.module.launch(((tiles, tiles), (4, 32)), call)?)
    }

    fn native(&mut self) {
        multiply(&self.a, &self.b, &mut self.reference, self.n);
    }

    fn verify(&self) -> Result<()> {
        // The product of two `f16` is exact in `f32`, so only the sums are rounded. Partial sums of n products from -1 to 1,
        // with a variance of 1/9, stay below 8 sqrt(n) / 3. Tensor cores add eight products or more at a time and cut off
        // what is below 2^-23 of the largest; n / 8 times that is 4e-8 n sqrt(n), the other half is for the reference.
        let n = self.n as f64;
        let tolerance = Tolerance::Near { absolute: 8e-8 * n * n.sqrt(), relative: 0.0 };
        compare(&self.c_device.to_vec()?, &self.reference, tolerance)
    }
}
