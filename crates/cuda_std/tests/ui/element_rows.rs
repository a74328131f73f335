use cuda_std::prelude::*;

#[kernel]
pub fn sums(rows: &[&[f32]], columns: &[Vec<f32>], pairs: &[(f32, f32)], names: &[String], mut y: DisjointSlice<f32>) {
    let _ = (rows, columns, pairs, names, y.own());
}

fn main() {}
