//! Published networks on the layers of `rumba-nn`: [`Upscaler`], which makes pictures twice as large, and [`Sentences`], which makes vectors of
//! sentences. `cargo xtask setup --models` fetches their weights.
#![forbid(unsafe_code)]

mod error;
mod sentences;
mod upscaler;

pub use error::{Error, Result};
pub use sentences::{Sentences, cosine};
pub use upscaler::Upscaler;
