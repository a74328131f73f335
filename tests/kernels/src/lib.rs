//! The kernels of tests, a module for each test or corpus.
//!
//! A build script builds the modules that it needs, which are features: options differ, and a text with the kernels of all
//! modules would slow down each test that loads the text. The compilation for the host has all modules.
//!
//! The crate does not say `#![no_std]`, as kernel crates for Rust-CUDA do not; the builder does.
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

#[cfg(any(feature = "faults", not(target_arch = "nvptx64")))]
pub mod faults;
#[cfg(any(feature = "faulty", not(target_arch = "nvptx64")))]
pub mod faulty;
#[cfg(any(feature = "forms", not(target_arch = "nvptx64")))]
pub mod forms;
#[cfg(any(feature = "indices", not(target_arch = "nvptx64")))]
pub mod indices;
#[cfg(any(feature = "steps", not(target_arch = "nvptx64")))]
pub mod steps;
#[cfg(any(feature = "ui", not(target_arch = "nvptx64")))]
pub mod ui;
#[cfg(any(feature = "ulp", not(target_arch = "nvptx64")))]
pub mod ulp;
#[cfg(any(feature = "variants", not(target_arch = "nvptx64")))]
pub mod variants;
