//! Builds the gallery's kernels to PTX and tells the programs where the text is.
//!
//! Without the feature `gallery` there is nothing to build, and no kernel toolchain is needed.

fn main() -> std::process::ExitCode {
    #[cfg(feature = "gallery")]
    if let Err(error) = gallery() {
        eprintln!("error: the gallery's kernels were not built\n\n{error}\n");
        eprintln!(
            "help: `cargo xtask setup` installs what a kernel build needs, `cargo xtask doctor` shows what is there"
        );
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(feature = "gallery")]
fn gallery() -> Result<(), cuda_builder::BuildError> {
    let ptx = cuda_builder::CudaBuilder::new("../kernels-gpu").build()?;
    println!("cargo::rustc-env=GALLERY_PTX={}", ptx.path.display());
    println!("cargo::rustc-env=GALLERY_PTX_HASH=sha256:{}", &ptx.hash()[..16]);
    Ok(())
}
