//! CUDA C++: `printf("%d\n", i);`

use cuda_std::prelude::*;

#[kernel]
pub fn show(x: &[f32]) {
    printf("%f\n", x[0]);
}
