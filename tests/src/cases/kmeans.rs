//! `kmeans`: `n` points around 64 centres.

use crate::cases::EDGES;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use cuda_std::vector::Vector4;
use kernels_gpu::kmeans::{CENTRES, SUMS, kmeans, nearest};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

/// Centres: fewer than there may be.
const COUNT: usize = 64;

pub(super) const CASE: Case = Case {
    name: "kmeans",
    sizes: EDGES,
    bench: [1 << 16, 1 << 24],
    cost: |n| Cost { bytes: 20 * n as u64, flops: 11 * (COUNT * n) as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    blocks: u32,
    points: Vec<Vector4<f32>>,
    centres: Vec<Vector4<f32>>,
    labels: Vec<u32>,
    sums: Vec<f64>,
    points_device: DeviceBuffer<Vector4<f32>>,
    centres_device: DeviceBuffer<Vector4<f32>>,
    labels_device: DeviceBuffer<u32>,
    sums_device: DeviceBuffer<f32>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let mut random = fastrand::Rng::with_seed(1);
        // Corners of a box and points near them: no point is as far from one centre as from another.
        let centres: Vec<Vector4<f32>> =
            (0..COUNT).map(|number| Vector4(std::array::from_fn(|k| ((number >> (2 * k)) % 4) as f32))).collect();
        let points: Vec<Vector4<f32>> =
            (0..n).map(|_| Vector4(centres[random.usize(..COUNT)].map(|x| x + 0.8 * (random.f32() - 0.5)))).collect();
        Ok(Self {
            module: module.clone(),
            blocks: (n as u32).div_ceil(CENTRES as u32).min(16 * device.limits().multiprocessors_at_once),
            labels: vec![0; n],
            sums: Vec::new(),
            points_device: device.buffer_from(&points)?,
            centres_device: device.buffer_from(&centres)?,
            labels_device: device.zeros(n)?,
            sums_device: device.zeros(SUMS * COUNT)?,
            points,
            centres,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        self.sums_device.clear()?;
        let call = kmeans(&self.points_device, &self.centres_device, &mut self.labels_device, &mut self.sums_device);
        Ok(self.module.launch((self.blocks, CENTRES as u32), call)?)
    }

    fn native(&mut self) {
        let centres = &self.centres;
        let add = |mut a: Vec<f64>, b: Vec<f64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let none = || vec![0.0; SUMS * COUNT];
        let chunks = self.points.par_chunks(1 << 12).zip(self.labels.par_chunks_mut(1 << 12));
        let sums = chunks.map(|(points, labels)| {
            let mut sums = none();
            for (point, label) in points.iter().zip(labels) {
                let centre = nearest(*point, centres);
                *label = centre as u32;
                let numbers = point.iter().copied().chain([1.0]);
                numbers.enumerate().for_each(|(k, x)| sums[SUMS * centre + k] += f64::from(x));
            }
            sums
        });
        self.sums = sums.reduce(none, add);
    }

    fn verify(&self) -> Result<()> {
        compare(&self.labels_device.to_vec()?, &self.labels, Tolerance::Exact)?;
        let sums: Vec<f64> = self.sums_device.to_vec()?.into_iter().map(f64::from).collect();
        let tolerance = Tolerance::Near { absolute: 1e-7 * self.points.len() as f64, relative: 1e-4 };
        compare(&sums, &self.sums, tolerance)
    }
}
