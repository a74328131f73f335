//! Builds the kernels to PTX, and tells the program and its tests where the text is: in the variable `KERNELS_PTX`.

fn main() -> Result<(), cuda_builder::BuildError> {
    let ptx = cuda_builder::CudaBuilder::new("kernels").build()?;
    println!("cargo::rustc-env=KERNELS_PTX={}", ptx.path.display());
    Ok(())
}
