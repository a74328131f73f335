//! Rust: a module of kernels without a build script.

#[rumba::kernels]
mod kernels {
    use cuda_std::prelude::*;

    #[kernel]
    pub fn scale(mut y: DisjointSlice<f32>) {
        if let Some(y) = y.own() {
            *y *= 2.0;
        }
    }
}

fn main() {}
