//! Rust: a structure in a device buffer.

use rumba::prelude::*;

struct Particle {
    position: [f32; 3],
    alive: bool,
}

fn run(device: &Device, particles: &[Particle]) -> rumba::Result<()> {
    device.buffer_from(particles)?;
    Ok(())
}

fn main() {}
