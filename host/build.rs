//! Builds the kernels of the features that are on to PTX, and tells the library and the programs where the texts are.
//!
//! They are the same in all profiles, without overflow checks: measured in one, they are known in all.
//!
//! Without such a feature there is nothing to build, and no kernel toolchain is needed.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(any(feature = "gallery", feature = "algorithms"))]
    if let Err((what, error)) = kernels() {
        eprintln!("error: the kernels of {what} were not built\n\n{error}\n");
        eprintln!(
            "help: `cargo xtask setup` installs what a kernel build needs, `cargo xtask doctor` shows what is there"
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

#[cfg(any(feature = "gallery", feature = "algorithms"))]
fn kernels() -> Result<(), (&'static str, cuda_builder::BuildError)> {
    use cuda_builder::CudaBuilder;

    #[cfg(feature = "gallery")]
    {
        let ptx = CudaBuilder::new("../kernels-gpu")
            .overflow_checks(false)
            .build()
            .map_err(|error| ("the gallery", error))?;
        println!("cargo::rustc-env=GALLERY_PTX={}", ptx.path.display());
        println!("cargo::rustc-env=GALLERY_PTX_HASH=sha256:{}", &ptx.hash()[..16]);
    }
    #[cfg(feature = "algorithms")]
    {
        let ptx = CudaBuilder::new("../crates/rumba-algorithms")
            .overflow_checks(false)
            .build()
            .map_err(|error| ("the algorithms", error))?;
        println!("cargo::rustc-env=ALGORITHMS_PTX={}", ptx.path.display());
    }
    Ok(())
}
