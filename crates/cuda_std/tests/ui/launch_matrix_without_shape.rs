use cuda_std::prelude::*;

#[kernel]
pub fn fill(mut c: Disjoint<f32, PerThread<2>>) {
    let _ = c.own();
}

fn main() {
    let mut c = vec![0.0_f32; 4];
    let _ = fill(&mut c);
}
