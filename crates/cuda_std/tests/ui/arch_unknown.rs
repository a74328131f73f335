use cuda_std::prelude::*;

#[kernel(arch = "compute_90a")]
pub fn of_nvcc(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(arch = 90)]
pub fn number(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(arch = ["sm_90a", "hopper"])]
pub fn generation(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(arch = [])]
pub fn none(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(arch = ["sm_80", "sm_90", "sm_80"])]
pub fn twice(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(arch = "sm_80", arch = "sm_90")]
pub fn two(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(gencode = "sm_90")]
pub fn other_name(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(arch = ["sm_90a", "sm_80"])]
pub fn right(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own()
        && cfg_arch!("90a")
    {
        *y = 1.0;
    }
}

fn main() {}
