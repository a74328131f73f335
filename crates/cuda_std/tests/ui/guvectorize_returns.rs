use cuda_std::prelude::*;

#[guvectorize("(n)->()")]
pub fn sum(x: View<f32, 1>, mut out: ViewMut<f32, 0>) -> f32 {
    out[[]] = x[0];
    x[0]
}

fn main() {}
