use cuda_std::prelude::*;

#[kernel]
pub fn double(mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    y[i] *= 2.0;
}

#[kernel]
pub fn count(mut y: DisjointSlice2<u32>) {
    y[3] = 1;
}

#[kernel]
pub fn chunks(mut y: DisjointChunks<u32, 4>) {
    let first = y[0];
    y.each(|y| *y += first);
}

fn main() {}
