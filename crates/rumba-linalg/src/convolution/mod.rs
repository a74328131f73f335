//! Convolutions of images: a filter goes over an image, and each place where it stands becomes a pixel of the output. Each file
//! has one way to compute them.
//!
//! Images are `[images, rows, columns, channels]` in this order (NHWC), filters `[outputs, rows, columns, channels]` (KRSC).

pub mod patches;
pub mod thread;
pub mod warp_group;
