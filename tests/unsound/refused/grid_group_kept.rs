//! A group of the grid that a static keeps would wait with a later grid.
use cuda_std::prelude::*;

use once_cell::race::OnceRef;


use cuda_std::groups::GridGroup;

fn is_static<T: 'static>(_: &T) {}

#[kernel(cooperative)]
pub fn keep(group: GridGroup) {
    is_static(&group);
    group.sync();
}

fn main() {}
