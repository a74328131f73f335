//! Builds the kernels to PTX, and tells the program and its tests where the text is: in the variable `KERNELS_PTX`.

fn main() {
    cuda_builder::build_kernels("kernels");
}
