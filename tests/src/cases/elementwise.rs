//! `add`, `multiply`.

use crate::cases::{EDGES, uniform};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use cuda_std::launch::Call;
use kernels_gpu::elementwise::{add, multiply};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

const BENCH: [usize; 2] = [1 << 23, 1 << 27];
const COST: fn(usize) -> Cost = |n| Cost { bytes: 12 * n as u64, flops: n as u64 };

pub(super) const ADD: Case = Case {
    name: "add",
    sizes: EDGES,
    bench: BENCH,
    cost: COST,
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n, |a, b, out| add(a, b, out), |a, b| a + b)?)),
};

pub(super) const MULTIPLY: Case = Case {
    name: "multiply",
    sizes: EDGES,
    bench: BENCH,
    cost: COST,
    prepare: |device, module, n| {
        Ok(Box::new(Data::new(device, module, n, |a, b, out| multiply(a, b, out), |a, b| a * b)?))
    },
};

type Kernel = for<'a> fn(&'a DeviceBuffer<f32>, &'a DeviceBuffer<f32>, &'a mut DeviceBuffer<f32>) -> Call<'a>;

struct Data {
    module: Module,
    kernel: Kernel,
    operation: fn(f32, f32) -> f32,
    a: Vec<f32>,
    b: Vec<f32>,
    reference: Vec<f32>,
    a_device: DeviceBuffer<f32>,
    b_device: DeviceBuffer<f32>,
    out_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize, kernel: Kernel, operation: fn(f32, f32) -> f32) -> Result<Self> {
        let (a, b) = (uniform(n, 1), uniform(n, 2));
        Ok(Self {
            module: module.clone(),
            kernel,
            operation,
            a_device: device.buffer_from(&a)?,
            b_device: device.buffer_from(&b)?,
            out_device: device.zeros(n)?,
            reference: vec![0.0; n],
            a,
            b,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let call = (self.kernel)(&self.a_device, &self.b_device, &mut self.out_device);
        Ok(self.module.for_each(self.reference.len(), call)?)
    }

    fn native(&mut self) {
        let operation = self.operation;
        let inputs = self.a.par_iter().zip(&self.b);
        self.reference
            .par_iter_mut()
            .zip(inputs)
            .with_min_len(1 << 14)
            .for_each(|(out, (a, b))| *out = operation(*a, *b));
    }

    fn verify(&self) -> Result<()> {
        compare(&self.out_device.to_vec()?, &self.reference, Tolerance::Exact)
    }
}
