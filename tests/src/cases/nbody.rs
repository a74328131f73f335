//! `nbody`: all pairs of `n` bodies.

use crate::cases::{EDGES, uniform};
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use bytemuck::cast_slice;
use cuda_std::vector::Vector4;
use kernels_gpu::nbody::{TILE, nbody};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

const SOFTENING: f32 = 0.01;

pub(super) const CASE: Case = Case {
    name: "nbody",
    sizes: EDGES.split_at(EDGES.len() - 1).0,
    bench: [2048, 1 << 17],
    // 9 additions and subtractions, 10 products and a root, which is counted once.
    cost: |n| Cost { bytes: 32 * n as u64, flops: 20 * (n * n) as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    bodies: Vec<[f32; 4]>,
    reference: Vec<[f32; 4]>,
    bodies_device: DeviceBuffer<Vector4<f32>>,
    acceleration_device: DeviceBuffer<Vector4<f32>>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let mut bodies: Vec<[f32; 4]> = uniform(4 * n, 1).as_chunks().0.to_vec();
        for body in &mut bodies {
            body[3] = body[3].abs() / n as f32;
        }
        let vectors: Vec<Vector4<f32>> = bodies.iter().copied().map(Vector4).collect();
        Ok(Self {
            module: module.clone(),
            reference: vec![[0.0; 4]; n],
            bodies_device: device.buffer_from(&vectors)?,
            acceleration_device: device.zeros(n)?,
            bodies,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let blocks = (self.bodies.len() as u32).div_ceil(TILE as u32);
        let call = nbody(&self.bodies_device, SOFTENING, &mut self.acceleration_device);
        Ok(self.module.launch((blocks, TILE as u32), call)?)
    }

    fn native(&mut self) {
        let bodies = &self.bodies;
        self.reference.par_iter_mut().zip(bodies).for_each(|(sum, body)| {
            *sum = [0.0; 4];
            for other in bodies {
                let d: [f32; 3] = std::array::from_fn(|k| other[k] - body[k]);
                let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING).sqrt();
                let pull = other[3] * inverse * inverse * inverse;
                (0..3).for_each(|k| sum[k] += pull * d[k]);
            }
        });
    }

    fn verify(&self) -> Result<()> {
        let tolerance = Tolerance::Near { absolute: 1e-4, relative: 1e-4 };
        let result = self.acceleration_device.to_vec()?;
        compare::<f32>(cast_slice(&result), self.reference.as_flattened(), tolerance)
    }
}
