//! Builds the generated kernels.

use std::process::ExitCode;

#[allow(dead_code, reason = "the programs are generated and printed elsewhere")]
#[path = "src/program/mod.rs"]
mod program;

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed={}", program::VARIABLE);
    let [seed, count] = program::wanted();
    println!("cargo::rustc-env=RANDOM_KERNELS_SEED={seed}");
    println!("cargo::rustc-env=RANDOM_KERNELS_COUNT={count}");
    // The evaluation on the host rounds each product before it enters a sum.
    match cuda_builder::CudaBuilder::new("kernels").overflow_checks(false).fma_contraction(false).build() {
        Ok(ptx) => {
            println!("cargo::rustc-env=RANDOM_KERNELS_PTX={}", ptx.path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
