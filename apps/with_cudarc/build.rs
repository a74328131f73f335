//! Builds the kernels of the program.

fn main() {
    cuda_builder::build_file("src/main.rs");
}
