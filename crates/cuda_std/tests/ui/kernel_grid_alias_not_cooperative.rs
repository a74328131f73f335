use cuda_std::groups::GridGroup;
use cuda_std::prelude::*;

type Everyone<'l> = GridGroup<'l>;

#[kernel]
fn waits(grid: Everyone) {
    grid.sync();
}

#[kernel(T = [f32])]
fn waits_too<T: cuda_std::Element>(_x: &[T], grid: Everyone) {
    grid.sync();
}

#[kernel(cooperative)]
fn may_wait(grid: Everyone) {
    grid.sync();
}

fn main() {}
