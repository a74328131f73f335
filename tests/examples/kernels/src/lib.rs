//! The kernels of the examples in the documentation of `cuda_std`, each example a module of its own. Two examples cannot
//! have kernels of the same name.
#![no_std]
#![allow(clippy::all, missing_docs, unused, unreachable_pub, reason = "examples show one thing each")]

include!(concat!(env!("OUT_DIR"), "/examples.rs"));
