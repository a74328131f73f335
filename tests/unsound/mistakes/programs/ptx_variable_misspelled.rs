//! Rust: another variable than the build script sets.

use rumba::prelude::*;

const PTX: &str = include_str!(env!("KERNEL_PTX"));

fn main() -> rumba::Result<()> {
    Device::new()?.load(PTX)?;
    Ok(())
}
