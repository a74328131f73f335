//! Builds the kernels of the features `algorithms` and `linalg` to PTX, and tells the library where the texts are.
//!
//! They are the same in all profiles, without overflow checks: measured in one, they are known in all.
//!
//! Without these features there is nothing to build, and no kernel toolchain is needed.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(any(feature = "algorithms", feature = "linalg"))]
    for (is_wanted, package, variable) in [
        (cfg!(feature = "algorithms"), "rumba-algorithms", "ALGORITHMS_PTX"),
        (cfg!(feature = "linalg"), "rumba-linalg", "LINALG_PTX"),
    ] {
        if !is_wanted {
            continue;
        }
        // The build script of the package says where cargo has the package.
        let folder = package.to_uppercase().replace('-', "_");
        let folder = std::env::var(format!("DEP_{folder}_FOLDER")).expect("the feature depends on the package");
        match cuda_builder::CudaBuilder::new(folder).overflow_checks(false).build() {
            Ok(ptx) => println!("cargo::rustc-env={variable}={}", ptx.path.display()),
            Err(error) => {
                eprintln!("error: the kernels of `{package}` were not built\n\n{error}\n");
                eprintln!(
                    "help: `cargo xtask setup` installs what a kernel build needs, `cargo xtask doctor` shows what is there"
                );
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
