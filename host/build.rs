//! Builds the kernels of the feature `algorithms` to PTX, and tells the library where the text is.
//!
//! They are the same in all profiles, without overflow checks: measured in one, they are known in all.
//!
//! Without it there is nothing to build, and no kernel toolchain is needed.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "algorithms")]
    match cuda_builder::CudaBuilder::new("../crates/rumba-algorithms")
        .overflow_checks(false)
        .build()
    {
        Ok(ptx) => println!("cargo::rustc-env=ALGORITHMS_PTX={}", ptx.path.display()),
        Err(error) => {
            eprintln!("error: the kernels of the algorithms were not built\n\n{error}\n");
            eprintln!(
                "help: `cargo xtask setup` installs what a kernel build needs, `cargo xtask doctor` shows what is there"
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
