//! Builds the kernels.

fn main() {
    // Kernels that panic on purpose do so by an assertion.
    let built = cuda_builder::CudaBuilder::new("kernels").overflow_checks(false).build();
    let ptx = built.unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=FAULTS_PTX={}", ptx.path.display());
}
