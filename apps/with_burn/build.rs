//! Builds the kernels of the program.

fn main() {
    cuda_builder::build_kernels("src/main.rs");
}
