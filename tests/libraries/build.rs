//! Builds the kernels of tests/tensor.

fn main() {
    let built = cuda_builder::CudaBuilder::new("../tensor").build();
    let ptx = built.unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=PRODUCTS_PTX={}", ptx.path.display());
}
