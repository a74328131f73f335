//! Builds the kernels of products.

fn main() {
    let built = cuda_builder::CudaBuilder::new("../../crates/rumba-linalg").build();
    let ptx = built.unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=PRODUCTS_PTX={}", ptx.path.display());
}
