//! Builds the kernels.

fn main() {
    // A check that can call something ends `wgmma`'s being asynchronous: ptxas, C7509.
    let built = cuda_builder::CudaBuilder::new("kernels").overflow_checks(false).build();
    let ptx = built.unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=STEPS_PTX={}", ptx.path.display());
}
