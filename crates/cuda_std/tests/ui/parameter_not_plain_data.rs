use cuda_std::prelude::*;

pub struct Settings {
    gain: f32,
}

#[kernel]
pub fn apply(settings: Settings, mut y: DisjointSlice<f32>) {
    let _ = (settings.gain, y.own());
}

fn main() {}
