//! `laplace_2d`, `laplace_3d`: one step on a square or a cube of `n` points a side, the last side rounded up to fours.

use crate::cases::uniform;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use bytemuck::cast_slice;
use cuda_std::vector::{Vector4, vectors};
use kernels_gpu::laplace::{laplace_2d, laplace_3d};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module};

pub(super) const TWO: Case = Case {
    name: "laplace_2d",
    sizes: &[1, 2, 5, 33, 130],
    bench: [1024, 16384],
    cost: |n| Cost { bytes: 8 * (n * columns(n)) as u64, flops: 4 * (n * n) as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, [1, n, columns(n)])?)),
};

pub(super) const THREE: Case = Case {
    name: "laplace_3d",
    sizes: &[1, 2, 5, 33],
    bench: [96, 640],
    cost: |n| Cost { bytes: 8 * (n * n * columns(n)) as u64, flops: 6 * (n * n * n) as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, [n, n, columns(n)])?)),
};

fn columns(n: usize) -> usize {
    n.next_multiple_of(4)
}

struct Data {
    module: Module,
    /// Layers, rows, columns; one layer in two dimensions.
    shape: [usize; 3],
    before: Vec<f32>,
    reference: Vec<f32>,
    before_device: DeviceBuffer<Vector4<f32>>,
    after_device: DeviceBuffer<Vector4<f32>>,
}

impl Data {
    fn new(device: &Device, module: &Module, shape: [usize; 3]) -> Result<Self> {
        let before = uniform(shape.iter().product(), 1);
        Ok(Self {
            module: module.clone(),
            shape,
            reference: vec![0.0; before.len()],
            before_device: device.buffer_from(&vectors(&before))?,
            after_device: device.zeros(before.len() / 4)?,
            before,
        })
    }

    /// Whether the problem is two-dimensional: a single layer.
    fn is_flat(&self) -> bool {
        self.shape[0] == 1
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let [layers, rows, columns] = self.shape;
        let [x, y, z] = [columns / 4, rows, layers.div_ceil(4)].map(|length| length as u32);
        let config = LaunchConfig::covering((x, y, z)).block((32, 8));
        let before = &self.before_device;
        let call = match self.is_flat() {
            true => laplace_2d(before, (&mut self.after_device, [rows, columns / 4])),
            false => laplace_3d(before, (&mut self.after_device, [layers, rows, columns / 4])),
        };
        Ok(self.module.launch(config, call)?)
    }

    fn native(&mut self) {
        let ([layers, rows, columns], flat, before) = (self.shape, self.is_flat(), &self.before);
        let lines = self.reference.par_chunks_mut(columns).enumerate();
        lines.for_each(|(line, after)| {
            let start = line * columns;
            let own = &before[start..][..columns];
            after.copy_from_slice(own);
            let (z, y) = (line / rows, line % rows);
            let inside = y > 0 && y + 1 < rows && (flat || (z > 0 && z + 1 < layers));
            if !inside {
                return;
            }
            let other =
                |distance: usize| (&before[start - distance..][..columns], &before[start + distance..][..columns]);
            let (up, down) = other(columns);
            let (front, back) = if flat { (up, up) } else { other(rows * columns) };
            for x in 1..columns - 1 {
                let (across, along) = (own[x - 1] + own[x + 1], up[x] + down[x]);
                after[x] = match flat {
                    true => 0.25 * (across + along),
                    false => (1.0 / 6.0) * (across + (along + (front[x] + back[x]))),
                };
            }
        });
    }

    fn verify(&self) -> Result<()> {
        let result = self.after_device.to_vec()?;
        compare(cast_slice(&result), &self.reference, Tolerance::Exact)
    }
}
