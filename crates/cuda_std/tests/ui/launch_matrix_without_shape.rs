use cuda_std::prelude::*;

#[kernel]
pub fn fill(mut c: DisjointSlice2<f32>) {
    let _ = c.own();
}

fn main() {
    let mut c = vec![0.0_f32; 4];
    let _ = fill(&mut c);
}
