use cuda_std::prelude::*;

#[kernel]
pub fn differences(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = x[i] - x[i - 1];
    }
}

#[kernel]
pub fn rows(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    let row = i / 16;
    if let Some(y) = y.own() {
        *y = x[row];
    }
}

fn main() {}
