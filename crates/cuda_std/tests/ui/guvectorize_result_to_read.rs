use cuda_std::prelude::*;

#[guvectorize("(n)->()")]
pub fn sum(x: View<f32, 1>, out: View<f32, 0>) {
    let _ = (x, out);
}

fn main() {}
