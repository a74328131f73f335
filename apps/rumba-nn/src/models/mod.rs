//! Whole networks, in the layout in which diffusers and transformers write their weights.

mod bert;
mod blocks;
mod clip;
mod transformer;
mod unet;
mod vae;

pub use bert::{Bert, BertShape};
pub use blocks::Resnet;
pub use clip::{ClipText, ClipTextShape};
pub use transformer::{Projection, Transformer, TransformerShape};
pub use unet::{Condition, Subject, UNet2d, UNet2dShape};
pub use vae::{VaeDecoder, VaeEncoder, VaeShape};
