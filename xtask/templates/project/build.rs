//! Builds the kernels to PTX and tells the program where the text is.

fn main() -> Result<(), cuda_builder::BuildError> {
    let ptx = cuda_builder::CudaBuilder::new("kernels").build()?;
    println!("cargo::rustc-env=KERNELS_PTX={}", ptx.path.display());
    Ok(())
}
