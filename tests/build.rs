//! Builds the kernels that are wrong to PTX, with overflow checks, for tests/faults.rs.

use std::process::ExitCode;

fn main() -> ExitCode {
    match cuda_builder::CudaBuilder::new("faulty").overflow_checks(true).build() {
        Ok(ptx) => {
            println!("cargo::rustc-env=FAULTY_PTX={}", ptx.path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
