
/// Compiles the kernels to PTX. `KERNELS_PTX` names the file when the package is compiled.
fn build_kernels() {
    match cuda_builder::CudaBuilder::new("{{kernels}}").build() {
        Ok(ptx) => println!("cargo::rustc-env=KERNELS_PTX={}", ptx.path.display()),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}
