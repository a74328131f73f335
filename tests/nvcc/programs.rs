//! The list of nvcc's programs: one line here, one file in `cuda/`, one in `programs/`. Triton's are in [`crate::triton`].

use anyhow::Result;

use crate::Gpu;

/// A file of kernels and what it should compute.
pub struct Program {
    /// Its name: that of its files.
    pub name: &'static str,
    /// The PTX that nvcc made.
    pub ptx: &'static str,
    /// Launches its kernels with several sizes and compares what they leave.
    pub run: fn(&Gpu) -> Result<()>,
    /// The compute capability of the only devices that run it, if others do not.
    pub capability: Option<&'static str>,
}

macro_rules! programs {
    ($($name:ident $(for $capability:literal)?),* $(,)?) => {
        $(mod $name;)*

        /// Every program.
        pub const ALL: &[Program] = &[$(Program {
            name: stringify!($name),
            ptx: include_str!(concat!("ptx/", stringify!($name), ".ptx")),
            run: $name::run,
            capability: [$($capability,)?].as_slice().first().copied(),
        }),*];
    };
}

programs![
    bits, debug, finance, grid_sync, heap, histogram, image, kmeans, life, linear, locks, math, matmul, nbody, objects,
    parameters, pipeline, print, reduce, scan, sort, sparse, stencil, tensor,
    tensor_memory for "10.0", tma, warps, wavefront, wgmma,
];

/// Numbers from 0 to 1.
fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.f32()).collect()
}
