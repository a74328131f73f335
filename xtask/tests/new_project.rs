//! `cargo xtask new project`: what it writes builds, and its tests pass. And a crate of kernels can be packaged.
//!
//! The project and its target folder lie in cargo's folder for tests, so that only the first run builds Rumba once more.

use std::path::Path;
use std::process::{Command, Output};

fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(folder)
        .env(
            "CARGO_TARGET_DIR",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/new-project-target"),
        )
        .env("CARGO_NET_OFFLINE", "true");
    // They are this package's, and not the project's.
    for (name, _) in std::env::vars_os() {
        let package = name.to_string_lossy().starts_with("CARGO_PKG_");
        if package
            || ["CARGO_MANIFEST_DIR", "CUDA_LIBRARY_PATH", "RUMBA_DEVICE"]
                .iter()
                .any(|own| name == *own)
        {
            cargo.env_remove(name);
        }
    }
    cargo
}

#[track_caller]
fn succeeds(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("cargo runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

#[test]
fn a_new_project_builds_and_passes_its_tests() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("heat-flow");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder is this test's");
    }
    let mut new = Command::new(env!("CARGO_BIN_EXE_xtask"));
    new.args(["new", "project"]).arg(&folder);
    assert!(succeeds(new).contains("cargo test"));
    // The versions that this workspace was built with are there without a network.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).expect("both folders are there");

    let mut fmt = cargo(&folder);
    fmt.args(["fmt", "--all", "--check"]);
    succeeds(fmt);
    let mut test = cargo(&folder);
    test.args(["test", "--workspace"]);
    let printed = succeeds(test);
    for name in ["saxpy_computes_what_a_loop_does", "saxpy_passes_every_check"] {
        assert!(printed.contains(&format!("test {name} ... ok")), "{printed}");
    }
    let mut run = cargo(&folder);
    run.args(["run", "--quiet"]).env("RUMBA_DEVICE", "soft");
    assert!(succeeds(run).contains("the last is 5"));

    // A second time the path is taken.
    let mut again = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let Output { status, stderr, .. } = again.args(["new", "project"]).arg(&folder).output().expect("it runs");
    assert!(!status.success());
    assert!(String::from_utf8_lossy(&stderr).contains("not empty"));
}

/// The gallery's kernels with what they depend on, as they would be published: manifests are complete and archives are made.
/// They are not built once more from the archives, since cargo keeps what it has unpacked of a version once.
#[test]
fn a_crate_of_kernels_can_be_packaged() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut package = cargo(&workspace);
    package.args(["package", "--allow-dirty", "--no-verify", "--quiet"]);
    for name in ["cuda_std_macros", "cuda_std", "kernels-gpu"] {
        package.args(["--package", name]);
    }
    succeeds(package);
}
