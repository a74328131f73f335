use cuda_std::prelude::*;

pub struct Filter {
    gain: f32,
}

impl Filter {
    #[kernel]
    pub fn apply(&self, mut y: DisjointSlice<f32>) {
        let _ = (self.gain, y.own());
    }
}

fn main() {}
