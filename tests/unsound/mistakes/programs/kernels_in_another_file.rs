//! Rust: a module of kernels in a file of its own.

#[rumba::kernels]
mod kernels;

fn main() {}
