//! Builds the kernels to PTX and tells the library where the text is.

use std::process::ExitCode;

fn main() -> ExitCode {
    match cuda_builder::CudaBuilder::new("../rumba-nn-kernels").overflow_checks(false).build() {
        Ok(ptx) => {
            println!("cargo::rustc-env=NN_PTX={}", ptx.path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: the kernels of the layers were not built\n\n{error}\n");
            eprintln!(
                "help: `cargo xtask setup` installs what a kernel build needs, `cargo xtask doctor` shows what is there"
            );
            ExitCode::FAILURE
        }
    }
}
