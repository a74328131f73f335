//! Rust: a kernel without `pub`.

mod kernels {
    use cuda_std::prelude::*;

    #[kernel]
    fn scale(mut y: DisjointSlice<f32>) {
        if let Some(y) = y.own() {
            *y *= 2.0;
        }
    }
}

fn run(module: &rumba::Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    module.for_each(4, kernels::scale(y))
}

fn main() {}
