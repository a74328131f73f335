use cuda_std::View;
use cuda_std::groups::GridGroup;
use cuda_std::prelude::*;

type Forever = View<'static, f32, 1>;

#[kernel]
pub fn keep(x: Forever, mut y: DisjointSlice<f32>) {
    let _ = (x, y.own());
}

mod renamed {
    pub type Grid = super::GridGroup<'static>;
}

#[kernel(cooperative)]
pub fn meets(grid: renamed::Grid) {
    grid.sync();
}

#[kernel]
pub fn leaks(x: &[f32], v: View<f32, 1>) {
    fn forever<T>(_: &'static T) {}
    forever(&x[0]);
    forever(&v[0]);
}

fn main() {}
