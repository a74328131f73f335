use cuda_std::prelude::*;

/// # Safety
///
/// All threads of a block must be in the grid.
#[kernel]
pub unsafe fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {
    let mut y = vec![0.0_f32; 4];
    let _ = fill(&mut y);
}
