//! CUDA C++: `__device__ int counter;`

use cuda_std::prelude::*;

static mut COUNTER: u32 = 0;

#[kernel]
pub fn count(x: &[f32]) {
    COUNTER += 1;
}
