//! `increment_f32`, `increment_f64`.

use crate::cases::EDGES;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use bytemuck::Pod;
use cuda_std::launch::Call;
use kernels_gpu::increment::{increment_f32, increment_f64};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};
use std::fmt::Display;

/// The size of Numba's and PyCUDA's introductory example.
const BENCH: [usize; 2] = [10_000_000, 100_000_000];

pub(super) const F32: Case = Case {
    name: "increment_f32",
    sizes: EDGES,
    bench: BENCH,
    cost: |n| Cost { bytes: 8 * n as u64, flops: n as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n, 1.0_f32, |a| increment_f32(a))?)),
};

pub(super) const F64: Case = Case {
    name: "increment_f64",
    sizes: EDGES,
    bench: BENCH,
    cost: |n| Cost { bytes: 16 * n as u64, flops: n as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n, 1.0_f64, |a| increment_f64(a))?)),
};

struct Data<T: Pod> {
    module: Module,
    kernel: for<'a> fn(&'a mut DeviceBuffer<T>) -> Call<'a>,
    one: T,
    reference: Vec<T>,
    device: DeviceBuffer<T>,
}

impl<T: Pod + From<u16>> Data<T> {
    fn new(
        device: &Device,
        module: &Module,
        n: usize,
        one: T,
        kernel: for<'a> fn(&'a mut DeviceBuffer<T>) -> Call<'a>,
    ) -> Result<Self> {
        let values: Vec<T> = (0..n).map(|i| T::from((i % 1000) as u16)).collect();
        Ok(Self { module: module.clone(), kernel, one, device: device.buffer_from(&values)?, reference: values })
    }
}

impl<T: Pod + Send + Sync + Display + Into<f64> + std::ops::AddAssign> Prepared for Data<T> {
    fn launch(&mut self) -> Result<()> {
        Ok(self.module.for_each(self.reference.len(), (self.kernel)(&mut self.device))?)
    }

    fn native(&mut self) {
        let one = self.one;
        self.reference.par_iter_mut().with_min_len(1 << 14).for_each(|a| *a += one);
    }

    fn verify(&self) -> Result<()> {
        compare(&self.device.to_vec()?, &self.reference, Tolerance::Exact)
    }
}
