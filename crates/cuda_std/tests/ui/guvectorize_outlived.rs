use cuda_std::prelude::*;
use cuda_std::{View, ViewMut};

#[guvectorize("(n)->()")]
pub fn first(x: View<'static, f32, 1>, mut y: ViewMut<f32, 0>) {
    y[[]] = x[0];
}

fn main() {}
