use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub struct Particle {
    position: [f32; 3],
}

#[kernel]
pub fn advance(particles: &[Particle]) {
    let _ = particles[0].position;
}

fn main() {}
