use cuda_std::prelude::*;

#[guvectorize]
pub fn sum(x: View<f32, 1>, mut out: ViewMut<f32, 0>) {
    out[[]] = (0..x.shape()[0]).map(|index| x[index]).sum();
}

fn main() {}
