//! Rust: a kernel within a function, which uses the function's variable.

use cuda_std::prelude::*;

pub fn program() {
    let factor = 2.0;
    #[kernel]
    fn scale(mut y: DisjointSlice<f32>) {
        if let Some(y) = y.own() {
            *y *= factor;
        }
    }
}
