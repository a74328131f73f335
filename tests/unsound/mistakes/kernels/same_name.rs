//! Rust: kernels of one name in two modules.

pub mod a {
    use cuda_std::prelude::*;

    #[kernel]
    pub fn step(mut y: DisjointSlice<f32>) {
        let _ = y.own();
    }
}

pub mod b {
    use cuda_std::prelude::*;

    #[kernel]
    pub fn step(mut y: DisjointSlice<f32>) {
        let _ = y.own();
    }
}
