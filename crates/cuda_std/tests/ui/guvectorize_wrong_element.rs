use cuda_std::prelude::*;

#[guvectorize("(n)->()")]
pub fn first(x: View<f32, 1>, mut out: ViewMut<f32, 0>) {
    out[[]] = x[0];
}

fn main() {
    let _ = first::over(&[1_u32, 2]);
}
