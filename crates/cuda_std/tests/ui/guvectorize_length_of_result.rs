use cuda_std::prelude::*;

#[guvectorize("(n)->(m)")]
pub fn repeat(x: View<f32, 1>, mut out: ViewMut<f32, 1>) {
    out[0] = x[0];
}

fn main() {}
