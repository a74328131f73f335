//! `thread_indexing_1d`, `_2d`, `_3d`: `n` is the number of threads along each dimension.

use crate::cases::EDGES;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use bytemuck::cast_slice;
use kernels_gpu::thread_indexing::{Place, thread_indexing_1d, thread_indexing_2d, thread_indexing_3d};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module};

pub(super) const ONE: Case = Case {
    name: "thread_indexing_1d",
    sizes: EDGES,
    bench: [1 << 20, 1 << 25],
    cost: |n| cost(n),
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, [n, 1, 1], [256, 1, 1])?)),
};

pub(super) const TWO: Case = Case {
    name: "thread_indexing_2d",
    sizes: &[1, 7, 8, 33, 100],
    bench: [1 << 10, 1 << 12],
    cost: |n| cost(n * n),
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, [n, n, 1], [8, 8, 1])?)),
};

pub(super) const THREE: Case = Case {
    name: "thread_indexing_3d",
    sizes: &[1, 3, 4, 5, 21],
    bench: [1 << 7, 1 << 8],
    cost: |n| cost(n * n * n),
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, [n, n, n], [4, 4, 4])?)),
};

fn cost(threads: usize) -> Cost {
    Cost { bytes: (size_of::<Place>() * threads) as u64, flops: 0 }
}

struct Data {
    module: Module,
    /// Threads along x, y and z.
    threads: [usize; 3],
    /// The shape of a block.
    block: [u32; 3],
    reference: Vec<Place>,
    device: DeviceBuffer<Place>,
}

impl Data {
    fn new(device: &Device, module: &Module, threads: [usize; 3], block: [u32; 3]) -> Result<Self> {
        let n = threads.iter().product();
        Ok(Self {
            module: module.clone(),
            threads,
            block,
            reference: vec![Place::default(); n],
            device: device.zeros(n)?,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let [x, y, z] = self.threads;
        let call = match self.block {
            [_, 1, 1] => thread_indexing_1d(&mut self.device),
            [_, _, 1] => thread_indexing_2d((&mut self.device, [y, x])),
            _ => thread_indexing_3d((&mut self.device, [z, y, x])),
        };
        let block = self.block;
        let config = LaunchConfig::covering((x as u32, y as u32, z as u32)).block(block);
        Ok(self.module.launch(config, call)?)
    }

    fn native(&mut self) {
        let ([width, height, _], block) = (self.threads, self.block);
        self.reference.par_iter_mut().with_min_len(1 << 14).enumerate().for_each(|(index, place)| {
            let at = [index % width, index / width % height, index / width / height].map(|i| i as u32);
            *place = Place {
                thread: std::array::from_fn(|i| at[i] % block[i]),
                block: std::array::from_fn(|i| at[i] / block[i]),
            };
        });
    }

    fn verify(&self) -> Result<()> {
        compare::<u32>(cast_slice(&self.device.to_vec()?), cast_slice(&self.reference), Tolerance::Exact)
    }
}
