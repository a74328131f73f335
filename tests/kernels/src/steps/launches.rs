//! The steps of the book's chapter on the matrix product, in order: how each kernel is launched.
//!
//! tests/tests/it/steps.rs launches the steps on the software device, and the program of apps/libraries beside cuBLAS. Both build the
//! kernels themselves.

use cuda_std::half::f16;
use cuda_std::launch::Call;
use cuda_std::vector::Vector8;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module, Result, Stream};

use super::s01_naive::naive;
use super::s02_tiled::{self, tiled};
use super::s03_registers::{self, registers};
use super::s04_tensor_cores::{self, tensor_cores};
use super::s05_warp_group::warp_group;
use super::s06_queue::queue;
use super::s07_two_consumers::two_consumers;
use super::s08_persistent::persistent;
use super::s09_cluster::cluster;
use super::s10_bands::bands;
use super::s11_small::small;

/// A step: its number from 1, the kernel, and how a product is launched.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The kernel's name.
    pub name: &'static str,
    launch: for<'p> fn(&'p mut Product) -> (LaunchConfig<'static>, Call<'p>),
}

/// Matrices on a device: `c = a bᵀ`.
#[derive(Debug)]
pub struct Product {
    /// Rows of `a`, rows of `b`, and columns of both, a multiple of 8.
    shape: [usize; 3],
    a: DeviceBuffer<f16>,
    b: DeviceBuffer<f16>,
    /// Results of the first steps, which write unrounded sums.
    sums: DeviceBuffer<f32>,
    /// Results of the other steps, which round their sums.
    rounded: DeviceBuffer<f16>,
    /// Multiprocessors.
    blocks: u32,
}

impl Product {
    /// Copies matrices to a device.
    ///
    /// # Errors
    /// As for any buffer.
    pub fn new(device: &Device, shape: [usize; 3], a: &[f16], b: &[f16]) -> Result<Self> {
        let [m, n, _] = shape;
        Ok(Self {
            shape,
            a: device.buffer_from(a)?,
            b: device.buffer_from(b)?,
            sums: device.buffer_from(&vec![f32::NAN; m * n])?,
            rounded: device.buffer_from(&vec![f16::NAN; m * n])?,
            // Whole clusters of two.
            blocks: device.limits().multiprocessors.next_multiple_of(2),
        })
    }

    /// The result of a step that has run.
    ///
    /// # Errors
    /// As for any copy.
    pub fn result(&self, step: &Step) -> Result<Vec<f32>> {
        if step.rounds() {
            Ok(self.rounded.to_vec()?.into_iter().map(f16::to_f32).collect())
        } else {
            self.sums.to_vec()
        }
    }
}

impl Step {
    /// Launches the step's kernel on a stream.
    ///
    /// # Errors
    /// As for any launch.
    pub fn launch(&self, module: &Module, stream: &Stream, product: &mut Product) -> Result<()> {
        let (shape, call) = (self.launch)(product);
        module.launch(shape.stream(stream), call)
    }

    /// Whether results are `f16`.
    #[must_use]
    pub fn rounds(&self) -> bool {
        STEPS.iter().position(|step| step.name == self.name) >= Some(4)
    }
}

/// Blocks for tiles of so many rows and columns, with x for columns.
fn tiles([m, n, _]: [usize; 3], tile: usize) -> (u32, u32) {
    (n.div_ceil(tile) as u32, m.div_ceil(tile) as u32)
}

/// The steps in which threads copy: the elements that they take, and the shape of the launch.
macro_rules! by_threads {
    ($kernel:ident, $cast:ty, |$product:ident| $shape:expr) => {
        Step {
            name: stringify!($kernel),
            launch: |$product| {
                let [m, n, k] = $product.shape;
                let shape = $shape;
                let (a, b) = ($product.a.slice(..).cast::<$cast>(), $product.b.slice(..).cast::<$cast>());
                (LaunchConfig::from(shape), $kernel(a, b, k as u32, (&mut $product.sums, [m, n])))
            },
        }
    };
}

/// The steps with tensor maps, with so many rows and columns in a tile, and how many blocks there are for so many tiles.
macro_rules! by_tensor_copies {
    ($kernel:ident, [$rows:literal, $columns:literal], $threads:literal, |$product:ident, $tiles:ident| $blocks:expr) => {
        Step {
            name: stringify!($kernel),
            launch: |$product| {
                let [m, n, k] = $product.shape;
                let $tiles = (m.div_ceil($rows) * n.div_ceil($columns)) as u32;
                (
                    LaunchConfig::new($blocks, $threads),
                    $kernel((&$product.a, [m, k]), (&$product.b, [n, k]), (&mut $product.rounded, [m, n])),
                )
            },
        }
    };
}

/// All of them, and at the end one for few tiles.
pub static STEPS: [Step; 11] = [
    by_threads!(naive, f16, |product| (tiles(product.shape, 16), (16, 16))),
    by_threads!(tiled, f16, |product| (
        tiles(product.shape, s02_tiled::TILE),
        (s02_tiled::TILE as u32, s02_tiled::TILE as u32)
    )),
    by_threads!(registers, f16, |product| (
        tiles(product.shape, s03_registers::TILE),
        (s03_registers::THREADS as u32, s03_registers::THREADS as u32)
    )),
    by_threads!(tensor_cores, Vector8<f16>, |product| (tiles(product.shape, s04_tensor_cores::TILE), (4, 32))),
    // A block for each tile.
    by_tensor_copies!(warp_group, [64, 256], 256, |product, tiles| tiles),
    by_tensor_copies!(queue, [64, 256], 256, |product, tiles| tiles),
    by_tensor_copies!(two_consumers, [128, 256], 384, |product, tiles| tiles),
    // As many blocks as the device runs at once.
    by_tensor_copies!(persistent, [128, 256], 384, |product, _tiles| product.blocks),
    by_tensor_copies!(cluster, [128, 256], 384, |product, _tiles| product.blocks),
    by_tensor_copies!(bands, [128, 256], 384, |product, _tiles| product.blocks),
    by_tensor_copies!(small, [64, 128], 256, |product, tiles| tiles.min(2 * product.blocks)),
];
