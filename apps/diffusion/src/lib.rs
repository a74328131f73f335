//! Pictures from noise: Stable Diffusion from a folder of weights in the layout of diffusers ([`Folder`], [`Pipeline`]), and [`digits`] by a
//! small latent diffusion that comes with its weights.
#![forbid(unsafe_code)]

pub mod digits;
mod error;
mod folder;
mod noise;
mod picture;
mod pipeline;
mod schedule;
mod settings;
mod words;

pub use error::{Error, Result};
pub use folder::{Folder, Part};
pub use noise::normal;
pub use picture::Picture;
pub use pipeline::{Drawing, Event, Pipeline, Request, Source};
pub use schedule::{Prediction, Sampler, Schedule, Spacing, Step};
pub use words::{Text, Words};
