use cuda_std::groups::GridGroup;
use cuda_std::prelude::*;

#[kernel]
fn waits(grid: GridGroup) {
    grid.sync();
}

fn main() {}
