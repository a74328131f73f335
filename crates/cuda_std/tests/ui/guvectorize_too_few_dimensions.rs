use cuda_std::prelude::*;

#[guvectorize("(m,n)->()")]
pub fn first(x: View<f32, 2>, mut out: ViewMut<f32, 0>) {
    out[[]] = x[[0, 0]];
}

fn main() {
    let _ = first::over(&[1.0_f32, 2.0]);
}
