use cuda_std::prelude::*;

#[guvectorize("(n)->()")]
pub fn sum(x: ViewMut<f32, 1>, mut out: ViewMut<f32, 0>) {
    out[[]] = x[0];
}

fn main() {}
