//! A parameter type with its own way of being assembled.
use cuda_std::prelude::*;

pub struct Everything;

impl cuda_std::KernelParameter for Everything {
    const ROLE: cuda_std::launch::Role = cuda_std::launch::Role::Value;
}

fn main() {}
