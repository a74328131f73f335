//! Builds the kernels of tests/faults.rs, which are wrong, with overflow checks, and those of tests/forms.rs and tests/ui.rs.

use cuda_builder::CudaBuilder;
use std::process::ExitCode;

fn main() -> ExitCode {
    let crates = [
        ("FAULTY_PTX", CudaBuilder::new("faulty").overflow_checks(true)),
        ("FORMS_PTX", CudaBuilder::new("forms")),
        ("UI_PTX", CudaBuilder::new("ui")),
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
