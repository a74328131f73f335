//! Builds the kernels to PTX and tells the library where the text is.

use std::process::ExitCode;

fn main() -> ExitCode {
    match cuda_builder::CudaBuilder::new("../../kernels-gpu").overflow_checks(false).build() {
        Ok(ptx) => {
            println!("cargo::rustc-env=GALLERY_PTX={}", ptx.path.display());
            println!("cargo::rustc-env=GALLERY_PTX_HASH=sha256:{}", &ptx.hash()[..16]);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: the kernels of the gallery were not built\n\n{error}\n");
            eprintln!(
                "help: `cargo xtask setup` installs what a kernel build needs, `cargo xtask doctor` shows what is there"
            );
            ExitCode::FAILURE
        }
    }
}
