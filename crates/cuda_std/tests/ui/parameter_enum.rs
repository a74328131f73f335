use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub enum Mode {
    Sum,
    Product,
}

#[kernel]
pub fn combine(mode: Mode, mut y: DisjointSlice<f32>) {
    if let (Mode::Sum, Some(y)) = (mode, y.own()) {
        *y += 1.0;
    }
}

fn main() {}
