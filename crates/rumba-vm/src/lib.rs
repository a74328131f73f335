//! A SIMT machine that executes PTX on the CPU and checks it. It knows no CUDA API.

pub mod isa;
pub mod lower;
pub mod op;
pub mod types;
pub mod warp;
