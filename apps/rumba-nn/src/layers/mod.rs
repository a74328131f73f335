//! The layers, with weights and without.

mod attention;
mod convolution;
mod elementwise;
mod linear;
mod lookup;
mod norm;

pub use attention::{Attention, Heads};
pub use convolution::{Convolution, Filters};
pub use elementwise::Activation;
pub use linear::Linear;
pub use lookup::Embedding;
pub use norm::{GroupNorm, LayerNorm};

use crate::error::{Error, Result};

/// The error of a layer for a tensor that it does not take.
pub(crate) fn refuse<R>(layer: &'static str, wanted: String, shape: &[usize]) -> Result<R> {
    let shape = shape.to_vec();
    Err(Error::Shape { layer, wanted, shape })
}
