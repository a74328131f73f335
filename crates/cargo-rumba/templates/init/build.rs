//! Builds the kernels.

fn main() {
    build_kernels();
}
