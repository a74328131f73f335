use cuda_std::prelude::*;

#[kernel]
pub fn fill(mut out: Disjoint<f32, Array<2>>) {
    let _ = out.get_mut(grid::<2>());
}

fn main() {
    let out = [0.0_f32; 4];
    let _ = fill((&out, [2, 2]));
}
