//! Builds the kernels.

fn main() {
    // Kernels that panic on purpose do so by an assertion.
    let builder = cuda_builder::CudaBuilder::new("../kernels").build_arg("--features=faults").overflow_checks(false);
    let built = builder.build();
    let ptx = built.unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=FAULTS_PTX={}", ptx.path.display());
}
