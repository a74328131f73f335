//! Builds the kernels of the book's chapter on the matrix product, with the options of tests/build.rs.

use std::process::ExitCode;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> ExitCode {
    let kernels = CudaBuilder::new("../../tests/kernels").build_arg("--features=steps");
    match kernels.arch(NvvmArch::Compute90a).overflow_checks(false).build() {
        Ok(ptx) => {
            println!("cargo::rustc-env=STEPS_PTX={}", ptx.path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
