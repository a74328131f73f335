//! Layers of networks on Rumba's arrays.
//!
//! A network is Rust: a structure of [`layers`], whose weights come from a file of safetensors ([`Weights`]), and a function that
//! makes [`Tensor`]s of tensors. [`Nn::run`] calls it once. [`Nn::program`] calls it to see how long each tensor is needed, finds all
//! of them places in one piece of memory, and records it: a step is then one launch of a graph, which allocates nothing.
//!
//! ```
//! use rumba::array::Array;
//! use rumba_nn::layers::{Activation, Convolution, Filters, GroupNorm};
//! use rumba_nn::{Element, Nn, Result, Run, Tensor, Weights};
//!
//! /// A block of a residual network.
//! struct Block<T> {
//!     norm: GroupNorm<T>,
//!     convolution: Convolution<T>,
//! }
//!
//! impl<T: Element> Block<T> {
//!     fn load(weights: &Weights, channels: usize) -> Result<Self> {
//!         Ok(Block {
//!             norm: GroupNorm::load(&weights.at("norm"), channels, 4, 1e-5)?,
//!             convolution: Convolution::load(&weights.at("conv"), Filters::of_3(channels, channels))?,
//!         })
//!     }
//!
//!     fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
//!         let normed = self.norm.activated(run, x, Activation::Silu)?;
//!         run.add(x, &self.convolution.forward(run, &normed)?)
//!     }
//! }
//!
//! # use safetensors::tensor::{Dtype, TensorView, serialize};
//! # let zeros = vec![0; 4 * 8 * 8 * 9];
//! # let tensor = |shape: &[usize]| TensorView::new(Dtype::F32, shape.to_vec(), &zeros[..4 * shape.iter().product::<usize>()]).unwrap();
//! # let file = serialize([
//! #     ("norm.weight", tensor(&[8])), ("norm.bias", tensor(&[8])), ("conv.weight", tensor(&[8, 8, 3, 3])), ("conv.bias", tensor(&[8])),
//! # ], None).unwrap();
//! let device = rumba::Device::new()?;
//! let nn = Nn::new(&device)?;
//! let weights = Weights::from_bytes(&nn, "block.safetensors", file)?;
//! let block = Block::<f32>::load(&weights, 8)?;
//!
//! let mut images = Array::full(&device, [2, 16, 16, 8], 1.0_f32)?;
//! let mut results = Array::zeros(&device, images.shape())?;
//! let step = nn.program(|run| {
//!     let x = run.tensor(images.view())?;
//!     run.write(&block.forward(run, &x)?, results.view_mut())
//! })?;
//! images.fill(2.0)?;
//! step.launch()?;
//! # assert_eq!(results.to_vec()?[..3], [2.0; 3]);
//! # Ok::<(), rumba_nn::Error>(())
//! ```
//!
//! # One's own kernels
//!
//! A layer makes a tensor by [`Run::make`], which lends the memory and gives access to other tensors. Kernels that the
//! layer launches by [`Run::launch`] are recorded with everything else:
//!
//! ```
//! # mod kernels { pub use rumba_nn::example::{PTX, softsign}; }
//! use rumba::{LaunchConfig, Module};
//! use rumba_nn::{Nn, Result, Run, Tensor};
//!
//! // In the kernel crate:
//! //
//! //     #[kernel]
//! //     pub fn softsign(x: &[f32], mut y: DisjointSlice<f32>) {
//! //         let i = grid::<1>();
//! //         if let Some(y) = y.get_mut(i) {
//! //             *y = x[i] / (1.0 + x[i].abs());
//! //         }
//! //     }
//!
//! fn softsign<const N: usize>(run: &Run, module: &Module, x: &Tensor<f32, N>) -> Result<Tensor<f32, N>> {
//!     run.make(x.shape(), |reads, y| {
//!         let y = y.into_slice().expect("a new tensor lies in one piece");
//!         run.launch(module, LaunchConfig::for_each(x.len()), kernels::softsign(reads.slice(x)?, y))
//!     })
//! }
//!
//! # use rumba::array::Array;
//! # let device = rumba::Device::new()?;
//! let (nn, module) = (Nn::new(&device)?, device.load(kernels::PTX)?);
//! let x = Array::from_slice(&device, [2, 2], &[0.0, 1.0, -3.0, 1.0])?;
//! let mut y = Array::zeros(&device, [2, 2])?;
//! nn.run(|run| run.write(&softsign(run, &module, &run.tensor(x.view())?)?, y.view_mut()))?;
//! assert_eq!(y.to_vec()?, [0.0, 0.5, -0.75, 0.5]);
//! # Ok::<(), rumba_nn::Error>(())
//! ```
#![forbid(unsafe_code)]

mod error;
pub mod layers;
pub mod models;
mod plan;
mod run;
pub mod train;
mod weights;

pub use error::{Error, Result, WeightError};
pub use layers::Activation;
pub use run::element::Element;
pub use run::tensor::Tensor;
pub use run::{Nn, Program, Reads, Run};
pub use weights::Weights;

/// The kernel of the example above.
#[doc(hidden)]
pub mod example {
    pub use crate::run::PTX;
    pub use nn_kernels::example::softsign;
}
