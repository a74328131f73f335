//! Whole networks, in the layout in which diffusers writes their weights.

mod blocks;
mod unet;

pub use unet::{UNet2d, UNet2dShape};
