use cuda_std::prelude::*;

pub struct Line {
    slope: f32,
}

impl Line {
    #[vectorize]
    pub fn at(&self, x: f32) -> f32 {
        self.slope * x
    }
}

fn main() {}
