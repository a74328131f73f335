//! Builds the kernels.

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    // A check that can call something ends `wgmma`'s being asynchronous: ptxas, C7509.
    let builder = CudaBuilder::new("../kernels").build_arg("--features=steps").overflow_checks(false);
    // `wgmma`.
    let built = builder.arch(NvvmArch::Compute90a).build();
    let ptx = built.unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=STEPS_PTX={}", ptx.path.display());
}
