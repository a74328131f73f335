//! An example of each error of the builder.

use cuda_builder::inspect::InspectError;
use cuda_builder::toolchain::{Lack, NotFound, Origin, Rejected};
use cuda_builder::{BuildError, NvvmArch};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use super::samples::{no_such_file, said};

/// An example of each variant: its name, and what the library says.
pub fn builds() -> impl Iterator<Item = (&'static str, String)> {
    let path = PathBuf::from;
    let folder = || path("heat/kernels");
    let not_found = NotFound {
        rejected: vec![Rejected {
            rustc: path("~/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/rustc"),
            release: Some("rustc 1.95.0".into()),
            origin: Origin::Rustup("stable".into()),
            reason: Lack::Sources(path("lib/rustlib/src/rust/library")),
        }],
        remedies: vec!["rustup component add rust-src --toolchain stable".into()],
    };
    let builds = vec![
        ("BuildError::Toolchain", BuildError::Toolchain(not_found)),
        ("BuildError::NoCrate", BuildError::NoCrate { directory: folder() }),
        (
            "BuildError::Manifest",
            BuildError::Manifest { path: folder().join("Cargo.toml"), reason: "`sm_81` is not an architecture".into() },
        ),
        ("BuildError::Variable", BuildError::Variable { value: "no".into() }),
        (
            "BuildError::OneFile",
            BuildError::OneFile {
                file: path("heat/src/main.rs"),
                reason: "there is no module `#[rumba::kernels] mod NAME { .. }` at its top level".into(),
            },
        ),
        ("BuildError::NoLibrary", BuildError::NoLibrary { directory: folder() }),
        ("BuildError::Compile", BuildError::Compile { directory: folder(), errors: 2, diagnostics: String::new() }),
        ("BuildError::Cargo", BuildError::Cargo { directory: folder(), status: ExitStatus::from_raw(101 << 8) }),
        ("BuildError::Start", BuildError::Start { program: path("cargo"), source: no_such_file() }),
        ("BuildError::Io", BuildError::Io { path: folder().join("src/lib.rs"), source: no_such_file() }),
        ("BuildError::Rlib", BuildError::Rlib { path: path("libcuda_std.rlib"), reason: "it holds no bitcode".into() }),
        (
            "BuildError::LoadLlvm",
            BuildError::LoadLlvm {
                path: path("libLLVM.so.22.1"),
                source: cuda_builder::LoadError::Library(libloading::Error::DlOpenUnknown),
            },
        ),
        (
            "BuildError::Llvm",
            BuildError::Llvm { arch: NvvmArch::ALL[0], message: "cannot select: intrinsic %llvm.x86.rdtsc".into() },
        ),
        (
            "BuildError::TooNew",
            BuildError::TooNew { kernel: "product".into(), version: "8.0".into(), arch: "sm_90a".into() },
        ),
        (
            "BuildError::BelowFloor",
            BuildError::BelowFloor {
                kernel: "product".into(),
                stated: "sm_80".parse().expect("an architecture"),
                arch: "sm_90a".into(),
            },
        ),
        (
            "BuildError::Arch",
            BuildError::Arch {
                kernel: "product".into(),
                source: "sm_91".parse::<NvvmArch>().expect_err("there is no such architecture"),
            },
        ),
        (
            "BuildError::Clash",
            BuildError::Clash {
                symbol: "table_of".into(),
                what: "variable",
                defined: "kernels".into(),
                function: "tables".into(),
            },
        ),
        (
            "BuildError::KernelTwice",
            BuildError::KernelTwice { kernel: "step".into(), crates: ["heat".into(), "waves".into()] },
        ),
        ("BuildError::Undefined", BuildError::Undefined { symbols: vec!["`strlen`".into()] }),
    ];
    let lacks = vec![
        ("Lack::Broken", Lack::Broken("permission denied".into())),
        ("Lack::Old", Lack::Old),
        ("Lack::Sources", Lack::Sources(path("lib/rustlib/src/rust/library"))),
        ("Lack::Cargo", Lack::Cargo),
        ("Lack::Llvm", Lack::Llvm("22.1".into())),
    ];
    let inspects = vec![
        ("InspectError::Missing", InspectError::Missing { tool: "nvdisasm" }),
        ("InspectError::Io", InspectError::Io { path: path("ptxas"), source: no_such_file() }),
        (
            "InspectError::NoText",
            InspectError::NoText {
                arch: NvvmArch::ALL[0],
                texts: ["sm_80", "sm_90a"].map(|name| name.parse().expect("an architecture")).into(),
            },
        ),
        (
            "InspectError::Refused",
            InspectError::Refused { tool: "ptxas", message: "line 17; error: Unknown symbol 'x'".into() },
        ),
    ];
    said(builds).chain(said(lacks)).chain(said(inspects))
}
