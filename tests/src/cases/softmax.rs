//! `softmax`, `layer_norm`: matrices of `n` rows, of as many columns as a warp has registers for; few of them in tests of
//! one row.

use crate::cases::uniform;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use bytemuck::cast_slice;
use cuda_std::vector::{Vector4, vectors};
use kernels_gpu::layer_norm::layer_norm;
use kernels_gpu::softmax::{COLUMNS, softmax};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

const EPSILON: f32 = 1e-5;
const BLOCK: u32 = 256;
const SIZES: &[usize] = &[1, 7, 8, 9, 100];
const BENCH: [usize; 2] = [512, 1 << 18];
const COST: fn(usize) -> Cost = |n| Cost { bytes: 8 * (n * columns(n)) as u64, flops: 0 };

pub(super) const SOFTMAX: Case = Case {
    name: "softmax",
    sizes: SIZES,
    bench: BENCH,
    cost: COST,
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n, false)?)),
};

pub(super) const LAYER_NORM: Case = Case {
    name: "layer_norm",
    sizes: SIZES,
    bench: BENCH,
    cost: COST,
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n, true)?)),
};

/// Some tests have rows that do not fill a warp's registers.
fn columns(n: usize) -> usize {
    match n {
        1 => 4,
        7 => 388,
        _ => COLUMNS,
    }
}

struct Data {
    module: Module,
    /// Whether to normalise layers.
    norm: bool,
    n: usize,
    x: Vec<f32>,
    scale: Vec<f32>,
    offset: Vec<f32>,
    reference: Vec<f32>,
    x_device: DeviceBuffer<Vector4<f32>>,
    scale_device: DeviceBuffer<Vector4<f32>>,
    offset_device: DeviceBuffer<Vector4<f32>>,
    y_device: DeviceBuffer<Vector4<f32>>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize, norm: bool) -> Result<Self> {
        let mut x = uniform(n * columns(n), 1);
        x.iter_mut().for_each(|x| *x *= 10.0);
        let (scale, offset) = (uniform(columns(n), 2), uniform(columns(n), 3));
        Ok(Self {
            module: module.clone(),
            norm,
            n,
            reference: vec![0.0; x.len()],
            x_device: device.buffer_from(&vectors(&x))?,
            scale_device: device.buffer_from(&vectors(&scale))?,
            offset_device: device.buffer_from(&vectors(&offset))?,
            y_device: device.zeros(x.len() / 4)?,
            x,
            scale,
            offset,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let y = (&mut self.y_device, [self.n, columns(self.n) / 4]);
        let call = match self.norm {
            true => layer_norm(&self.x_device, &self.scale_device, &self.offset_device, EPSILON, y),
            false => softmax(&self.x_device, y),
        };
        let blocks = (self.n as u32).div_ceil(BLOCK / 32);
        Ok(self.module.launch((blocks, BLOCK), call)?)
    }

    fn native(&mut self) {
        let (columns, norm, scale, offset) = (columns(self.n), self.norm, &self.scale, &self.offset);
        let rows = self.x.par_chunks(columns).zip(self.reference.par_chunks_mut(columns));
        rows.for_each(|(x, y)| match norm {
            true => {
                let mean = x.iter().sum::<f32>() / columns as f32;
                let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / columns as f32;
                let factor = 1.0 / (variance + EPSILON).sqrt();
                for (((y, x), scale), offset) in y.iter_mut().zip(x).zip(scale).zip(offset) {
                    *y = (x - mean) * factor * scale + offset;
                }
            }
            false => {
                let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                y.iter_mut().zip(x).for_each(|(y, x)| *y = (x - largest).exp());
                let scale = 1.0 / y.iter().sum::<f32>();
                y.iter_mut().for_each(|y| *y *= scale);
            }
        });
    }

    fn verify(&self) -> Result<()> {
        let tolerance = Tolerance::Near { absolute: 1e-5, relative: 1e-5 };
        compare::<f32>(cast_slice(&self.y_device.to_vec()?), &self.reference, tolerance)
    }
}
