use cuda_std::prelude::*;

#[guvectorize("(n)->()")]
pub fn sum(x: &[f32], mut out: ViewMut<f32, 0>) {
    out[[]] = x.iter().sum();
}

fn main() {}
