//! A library in the place of NCCL, for ranks on the software device.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

/// The library's source, which is compiled when a test first asks for it.
const SOURCE: &str = include_str!("nccl/stand_in.rs");

/// The file for `RUMBA_NCCL_LIBRARY`, beside the tests' programs.
///
/// # Panics
///
/// If it cannot be compiled.
pub fn stand_in_for_nccl() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    SOURCE.hash(&mut hasher);
    let program = std::env::current_exe().expect("a test is a program");
    let folder = program.parent().expect("it lies in a folder");
    let library = folder.join(format!("libnccl-{:016x}.so", hasher.finish()));
    if library.exists() {
        return library;
    }
    // Another test may do the same: each has names of its own until the file is whole.
    let [source, built] = ["rs", "so"].map(|kind| folder.join(format!("nccl-{}.{kind}", std::process::id())));
    std::fs::write(&source, SOURCE).expect("there is room beside the program");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "cdylib", "-C", "opt-level=1", "-o"])
        .args([&built, &source])
        .output()
        .expect("tests are built with rustc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&built, &library).expect("both are in one folder");
    let _ = std::fs::remove_file(source);
    library
}
