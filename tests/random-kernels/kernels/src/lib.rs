//! Random safe kernels. `../src/program` generates them; the build script writes their Rust.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![forbid(unsafe_code)]
#![allow(
    clippy::all,
    missing_docs,
    unused,
    unused_comparisons,
    reason = "generated expressions have parentheses, constants and variables that a person would not write"
)]

/// The inputs of every kernel.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub words: &'a [u32],
    pub longs: &'a [u64],
    pub bytes: &'a [u8],
    pub shorts: &'a [i16],
    pub floats: &'a [f32],
    pub doubles: &'a [f64],
    pub number: u32,
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
