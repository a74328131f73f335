//! The gallery's functions as contests between the CPU and the device: for each the version in plain Rust on all cores, the
//! kernel from host memory to host memory, and what the kernel costs. `cargo xtask compare` runs them.
//!
//! A new one is a type with its `Contender` and a line in [`ALL`].

use bytemuck::cast_slice;
use cuda_std::vector::Vector4;
use kernels_gpu::black_scholes::{Market, Prices, black_scholes, price};
use kernels_gpu::matmul::{TILE, matmul_tiled};
use kernels_gpu::nbody::{self, nbody};
use kernels_gpu::saxpy::saxpy;
use rayon::prelude::*;
use rumba::{LaunchConfig, Module, Out, Result, Timings, compare::Contender, estimate::Cost, estimate::Offload};

/// A function in two versions.
pub struct Contest {
    /// As it is asked for.
    pub name: &'static str,
    /// The sizes on the software device, and on a GPU; the last one is what is predicted.
    pub sizes: [&'static [usize]; 2],
    /// The cost of the kernel.
    pub offload: fn(n: usize) -> Offload,
    /// Makes the data of size `n`.
    pub prepare: fn(&Module, n: usize) -> Box<dyn Contender>,
}

/// Every contest.
pub const ALL: &[Contest] = &[
    Contest {
        name: "saxpy",
        sizes: [
            &[1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 20, 1 << 22],
            &[1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 26],
        ],
        offload: |n| {
            let n = n as u64;
            let cost = Cost { bytes: 12 * n, flops: 2 * n };
            Offload::new(cost).copies(8 * n, 4 * n)
        },
        prepare: |module, n| {
            Box::new(Saxpy {
                module: module.clone(),
                x: spread(n, 0.0, 1.0),
                cpu: spread(n, -1.0, 1.0),
                device: spread(n, -1.0, 1.0),
            })
        },
    },
    Contest {
        name: "black_scholes",
        sizes: [
            &[1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 19],
            &[1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 25],
        ],
        offload: |n| {
            let n = n as u64;
            let cost = Cost { bytes: 20 * n, flops: 60 * n };
            Offload::new(cost).copies(12 * n, 8 * n)
        },
        prepare: |module, n| {
            Box::new(BlackScholes {
                module: module.clone(),
                inputs: [spread(n, 5.0, 30.0), spread(n, 1.0, 100.0), spread(n, 0.25, 10.0)],
                cpu: vec![Prices::default(); n],
                device: vec![Prices::default(); n],
            })
        },
    },
    Contest {
        name: "nbody",
        sizes: [&[1 << 6, 1 << 8, 1 << 10, 1 << 11], &[1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16]],
        offload: |n| {
            let n = n as u64;
            let cost = Cost { bytes: 32 * n, flops: 20 * n * n };
            Offload::new(cost).copies(16 * n, 16 * n)
        },
        prepare: |module, n| {
            let numbers = spread(4 * n, 0.1, 1.0);
            Box::new(Nbody {
                module: module.clone(),
                bodies: numbers.as_chunks::<4>().0.iter().copied().map(Vector4).collect(),
                cpu: vec![Vector4([0.0; 4]); n],
                device: vec![Vector4([0.0; 4]); n],
            })
        },
    },
    Contest {
        name: "matmul",
        sizes: [&[16, 32, 64, 128, 256], &[16, 64, 128, 256, 512, 1024, 2048]],
        offload: |n| {
            let n = n as u64;
            let cost = Cost { bytes: 12 * n * n, flops: 2 * n * n * n };
            Offload::new(cost).copies(8 * n * n, 4 * n * n)
        },
        prepare: |module, n| {
            Box::new(Matmul {
                module: module.clone(),
                n,
                a: spread(n * n, -1.0, 1.0),
                b: spread(n * n, -1.0, 1.0),
                cpu: vec![0.0; n * n],
                device: vec![0.0; n * n],
            })
        },
    },
];

/// `n` numbers between two, in no obvious order, the same ones each time.
fn spread(n: usize, from: f32, to: f32) -> Vec<f32> {
    // The golden ratio's multiples fill an interval evenly.
    let part = |i: usize| (i as f64 * 0.618_033_988_749_895).fract() as f32;
    (0..n).map(|i| from + (to - from) * part(i)).collect()
}

fn near(device: &[f32], cpu: &[f32], tolerance: f32) -> Result<(), String> {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= tolerance * b.abs().max(1.0);
    match device.iter().zip(cpu).position(|pair| !close(pair)) {
        None => Ok(()),
        Some(i) => Err(format!("element {i} is {} on the device, {} on the CPU", device[i], cpu[i])),
    }
}

struct Saxpy {
    module: Module,
    x: Vec<f32>,
    cpu: Vec<f32>,
    device: Vec<f32>,
}

const A: f32 = 2.5;

impl Contender for Saxpy {
    fn cpu(&mut self) {
        let pairs = self.cpu.par_iter_mut().zip(&self.x);
        pairs.with_min_len(1 << 14).for_each(|(y, x)| *y += A * x);
    }

    fn device(&mut self) -> Result<Timings> {
        let n = self.x.len();
        self.module.for_each_timed(n, saxpy(A, &self.x, &mut self.device))
    }

    fn agree(&self) -> Result<(), String> {
        near(&self.device, &self.cpu, 1e-5)
    }
}

struct BlackScholes {
    module: Module,
    inputs: [Vec<f32>; 3],
    cpu: Vec<Prices>,
    device: Vec<Prices>,
}

const MARKET: Market = Market { rate: 0.02, volatility: 0.3 };

impl Contender for BlackScholes {
    fn cpu(&mut self) {
        let [stock, strike, years] = &self.inputs;
        let inputs = stock.par_iter().zip(strike).zip(years);
        inputs
            .zip(&mut self.cpu)
            .with_min_len(1 << 10)
            .for_each(|(((stock, strike), years), prices)| *prices = price(*stock, *strike, *years, MARKET));
    }

    fn device(&mut self) -> Result<Timings> {
        let [stock, strike, years] = &self.inputs;
        let n = stock.len();
        let call = black_scholes(stock, strike, years, MARKET, Out(&mut self.device));
        self.module.for_each_timed(n, call)
    }

    fn agree(&self) -> Result<(), String> {
        near(cast_slice(&self.device), cast_slice(&self.cpu), 1e-4)
    }
}

struct Nbody {
    module: Module,
    bodies: Vec<Vector4<f32>>,
    cpu: Vec<Vector4<f32>>,
    device: Vec<Vector4<f32>>,
}

const SOFTENING: f32 = 0.01;

impl Contender for Nbody {
    fn cpu(&mut self) {
        let bodies = &self.bodies;
        self.cpu.par_iter_mut().zip(bodies).for_each(|(Vector4(sum), Vector4(body))| {
            *sum = [0.0; 4];
            for Vector4(other) in bodies {
                let d: [f32; 3] = std::array::from_fn(|k| other[k] - body[k]);
                let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING).sqrt();
                let pull = other[3] * inverse * inverse * inverse;
                (0..3).for_each(|k| sum[k] += pull * d[k]);
            }
        });
    }

    fn device(&mut self) -> Result<Timings> {
        let blocks = (self.bodies.len() as u32).div_ceil(nbody::TILE as u32);
        let call = nbody(&self.bodies, SOFTENING, Out(&mut self.device));
        self.module.launch_timed((blocks, nbody::TILE as u32), call)
    }

    fn agree(&self) -> Result<(), String> {
        near(cast_slice(&self.device), cast_slice(&self.cpu), 1e-3)
    }
}

struct Matmul {
    module: Module,
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    cpu: Vec<f32>,
    device: Vec<f32>,
}

impl Contender for Matmul {
    fn cpu(&mut self) {
        let (n, b) = (self.n, &self.b);
        self.cpu.par_chunks_mut(n).zip(self.a.par_chunks(n)).for_each(|(c, a)| {
            c.fill(0.0);
            for (a, b) in a.iter().zip(b.chunks_exact(n)) {
                for (c, b) in c.iter_mut().zip(b) {
                    *c += a * b;
                }
            }
        });
    }

    fn device(&mut self) -> Result<Timings> {
        let (n, tile) = (self.n as u32, TILE as u32);
        let c = (Out(&mut self.device), [self.n, self.n]);
        let call = matmul_tiled(&self.a, &self.b, n, c);
        self.module.launch_timed(LaunchConfig::covering((n, n)).block((tile, tile)), call)
    }

    fn agree(&self) -> Result<(), String> {
        near(&self.device, &self.cpu, 1e-6 * self.n as f32)
    }
}
