//! The message on a machine without a suitable compiler. Changes the environment, in a separate process.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cuda_builder::toolchain::{self, Lack, NotFound};
use cuda_builder::{BuildError, CudaBuilder};
use tempfile::TempDir;
use test_processes::{Outcome, alone};

/// The error when this file is the compiler to use.
fn find_with(rustc: &Path) -> NotFound {
    // SAFETY: the process runs this test only, which has one thread.
    unsafe { std::env::set_var(toolchain::OVERRIDE, rustc) };
    toolchain::find().expect_err("no compiler fits")
}

/// A program that answers as a rustc does.
fn fake_rustc(folder: &Path, version: &str) -> PathBuf {
    let rustc = folder.join(format!("rustc-{version}"));
    let sysroot = folder.join("sysroot");
    let script = format!(
        "#!/bin/sh\ncase $1 in\n-vV) printf 'rustc {version} (fake)\\nrelease: {version}\\nLLVM version: 22.1.2\\n';;\n\
         *) echo {};;\nesac\n",
        sysroot.display()
    );
    std::fs::write(&rustc, script).expect("a script");
    std::fs::set_permissions(&rustc, PermissionsExt::from_mode(0o755)).expect("permissions");
    rustc
}

#[test]
fn what_is_missing_is_said() {
    alone(&[], refused_compilers);
}

fn refused_compilers() -> Outcome {
    let folder = TempDir::new().expect("a temporary folder");
    let lack = |error: &NotFound| error.rejected.first().map(|rejected| rejected.reason.clone());

    let error = find_with(&folder.path().join("nowhere/rustc"));
    assert!(matches!(lack(&error), Some(Lack::Broken(_))), "{error}");
    assert!(error.to_string().contains("nowhere/rustc"), "{error}");

    let error = find_with(&fake_rustc(folder.path(), "1.80.0"));
    assert_eq!(lack(&error), Some(Lack::Old));
    assert!(error.to_string().contains("older than 1.95.0"), "{error}");

    let error = find_with(&fake_rustc(folder.path(), "1.95.0"));
    assert!(matches!(lack(&error), Some(Lack::Sources(_))), "{error}");
    let text = error.to_string();
    for part in ["library sources are missing", "To get one, run:", toolchain::OVERRIDE] {
        assert!(text.contains(part), "{text}");
    }

    let library = folder.path().join("sysroot/lib/rustlib/src/rust/library");
    std::fs::create_dir_all(library.join("core/src")).expect("folders");
    std::fs::write(library.join("core/src/lib.rs"), "").expect("a file");
    std::fs::write(library.join("Cargo.lock"), "").expect("a file");
    assert_eq!(lack(&find_with(&fake_rustc(folder.path(), "1.95.0"))), Some(Lack::Cargo));

    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernels");
    let error = CudaBuilder::new(kernels).build().expect_err("no compiler fits");
    assert!(matches!(error, BuildError::Toolchain(_)), "{error}");
    Ok(())
}
