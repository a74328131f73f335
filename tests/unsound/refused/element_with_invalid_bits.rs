//! A `bool` is not valid for every byte that a device may have written.
use cuda_std::prelude::*;

#[repr(C)]
pub struct Flag(bool);

impl cuda_std::Element for Flag {}

fn main() {}
