use cuda_std::prelude::*;

#[kernel]
pub fn trace(x: View<f32, 2>, mut out: DisjointSlice<f32>) {
    let _ = (x, out.own());
}

fn main() {
    let mut out = [0.0_f32];
    let _ = trace(&[1.0_f32, 2.0], &mut out);
}
