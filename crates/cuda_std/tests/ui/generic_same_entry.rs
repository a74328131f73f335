use cuda_std::prelude::*;

mod slow {
    pub struct Way;
}
mod fast {
    pub struct Way;
}

#[kernel(T = [slow::Way, fast::Way])]
pub fn fill<T>(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
