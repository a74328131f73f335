use cuda_std::prelude::*;

#[kernel]
pub fn double(mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    y[i] *= 2.0;
}

#[kernel]
pub fn count(mut y: Disjoint<u32, PerThread<2>>) {
    y[3] = 1;
}

#[kernel]
pub fn chunks(mut y: Disjoint<u32, Striped<4>>) {
    let first = y[0];
    y.each(|_, y| *y += first);
}

fn main() {}
