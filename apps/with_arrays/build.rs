//! Builds the kernels, and tells the programs where their PTX is.

fn main() {
    cuda_builder::build_kernels("../with_arrays-kernels");
}
