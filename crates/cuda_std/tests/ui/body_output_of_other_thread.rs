use cuda_std::prelude::*;

#[kernel]
pub fn shift(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>().get();
    if let Some(y) = y.get_mut(i + 1) {
        *y = x[i];
    }
}

#[kernel]
pub fn column(mut y: Disjoint<f32, PerThread<2>>) {
    let _ = y.get_mut(grid::<1>());
}

fn main() {}
