//! Builds the kernels twice: with libdevice, where there is one, and with the crate `libm`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for (variable, libdevice) in [("LIBDEVICE_PTX", true), ("LIBM_PTX", false)] {
        let file = folder.join(variable.to_lowercase()).with_extension("ptx");
        let builder = cuda_builder::CudaBuilder::new("../kernels").build_arg("--features=ulp").overflow_checks(false);
        match builder.libdevice(libdevice).debug(cuda_builder::DebugInfo::None).copy_to(file).build() {
            Ok(ptx) => {
                println!("cargo::rustc-env={variable}={}", ptx.path.display());
                if libdevice && ptx.libdevice.is_none() {
                    println!("cargo::rustc-cfg=without_libdevice");
                }
            }
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("cargo::rustc-check-cfg=cfg(without_libdevice)");
    ExitCode::SUCCESS
}
