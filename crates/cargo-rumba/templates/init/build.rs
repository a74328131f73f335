//! Builds the kernels.

fn main() {
    cuda_builder::build_kernels("{{kernels}}");
}
