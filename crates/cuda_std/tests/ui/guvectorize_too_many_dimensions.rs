use cuda_std::prelude::*;

#[guvectorize("()->(2,2)")]
pub fn square(x: f32, mut out: ViewMut<f32, 2>) {
    out[[0, 0]] = x;
}

fn main() {
    let x = [0.0_f32; 32];
    let _ = square::over((&x, [2, 2, 2, 2, 2]));
}
