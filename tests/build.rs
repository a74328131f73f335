//! Builds the kernels of tests/it/faults.rs, which are wrong, with overflow checks, those of the other tests, and those behind the
//! runtime's arrays.

use cuda_builder::{CudaBuilder, DebugInfo};
use std::process::ExitCode;

fn main() -> ExitCode {
    let crates = [
        ("FAULTY_PTX", CudaBuilder::new("faulty").overflow_checks(true)),
        ("FORMS_PTX", CudaBuilder::new("forms").overflow_checks(false)),
        ("INDICES_PTX", CudaBuilder::new("indices").overflow_checks(false)),
        ("UI_PTX", CudaBuilder::new("ui").overflow_checks(false)),
        ("UNSOUND_PTX", CudaBuilder::new("unsound").overflow_checks(false)),
        ("VARIANTS_PTX", CudaBuilder::new("variants").overflow_checks(false)),
        (
            "ARRAY_KERNELS_PTX",
            CudaBuilder::new("../crates/array-kernels").debug(DebugInfo::None).overflow_checks(false),
        ),
    ];
    for (variable, builder) in crates {
        match builder.build() {
            Ok(ptx) => println!("cargo::rustc-env={variable}={}", ptx.path.display()),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
