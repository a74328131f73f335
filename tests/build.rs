//! Builds the kernels of the tests, texts of modules of the package of test kernels, the programs of tests/unsound, and
//! the kernels behind the runtime's arrays.

use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch};
use std::path::Path;
use std::process::ExitCode;

/// The variable of the mathematical functions of libdevice. Without libdevice, its text has those of `libm`.
const ULP_LIBDEVICE: &str = "ULP_LIBDEVICE_PTX";

fn main() -> ExitCode {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let module = |name: &str| {
        let builder = CudaBuilder::new("kernels").build_arg(format!("--features={name}")).overflow_checks(false);
        builder.copy_to(Path::new(&out).join(format!("{name}.ptx")))
    };
    let functions = |library: &str, libdevice| {
        let file = Path::new(&out).join(format!("ulp_{library}.ptx"));
        module("ulp").libdevice(libdevice).debug(DebugInfo::None).copy_to(file)
    };
    let crates = [
        // The test of reports expects panics of overflow checks.
        ("FAULTY_PTX", module("faulty").overflow_checks(true)),
        ("FORMS_PTX", module("forms")),
        // Asynchronous copies and products of matrices.
        ("INDICES_PTX", module("indices").arch(NvvmArch::Compute80)),
        // `wgmma`. A check that can call something ends its being asynchronous: ptxas, C7509.
        ("STEPS_PTX", module("steps").arch(NvvmArch::Compute90a)),
        // Asynchronous copies and mbarriers.
        ("UI_PTX", module("ui").arch(NvvmArch::Compute80)),
        // The mathematical functions: of libdevice if it is installed, and of the crate `libm`.
        (ULP_LIBDEVICE, functions("libdevice", true)),
        ("ULP_LIBM_PTX", functions("libm", false)),
        ("UNSOUND_PTX", CudaBuilder::new("unsound").overflow_checks(false)),
        (
            "UNSOUND_COLLECTIVE_PTX",
            CudaBuilder::new("unsound")
                .build_arg("--features=collective")
                // The device of the tests. Some kernels need it; of the others, texts for older devices would be as long again.
                .arch(NvvmArch::Compute90a)
                .overflow_checks(false)
                .copy_to(Path::new(&out).join("unsound_collective.ptx")),
        ),
        ("VARIANTS_PTX", module("variants")),
        (
            "ARRAY_KERNELS_PTX",
            CudaBuilder::new("../crates/array-kernels").debug(DebugInfo::None).overflow_checks(false),
        ),
    ];
    for (variable, builder) in crates {
        match builder.build() {
            Ok(ptx) => {
                println!("cargo::rustc-env={variable}={}", ptx.path.display());
                if variable == ULP_LIBDEVICE && ptx.libdevice.is_none() {
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
