//! The workspaces of this repository and cargo in them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::Result;
use cargo_rumba::soft;

pub(crate) use cargo_rumba::shell::{describe, output, run};

/// The folder of the workspace's Cargo.toml.
pub(crate) fn workspace() -> &'static Path {
    static WORKSPACE: OnceLock<PathBuf> = OnceLock::new();
    WORKSPACE.get_or_init(|| workspace_of(std::env::var_os("CARGO_MANIFEST_DIR").as_deref().map(Path::new)).to_owned())
}

/// The workspace around the package that cargo runs. If cargo runs the launcher, the workspace is where the launcher lies now: cargo does
/// not compile xtask again in a clone that has moved.
fn workspace_of(package: Option<&Path>) -> &Path {
    let launcher = package.filter(|package| package.ends_with("xtask/launcher"));
    let package = launcher.and_then(Path::parent).unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")));
    package.parent().expect("xtask lies in the workspace")
}

/// The cargo that runs this program, at work in the workspace's root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    command
}

/// The folder of the applications, a workspace of its own.
pub(crate) fn apps() -> PathBuf {
    workspace().join("apps")
}

/// The same cargo in the workspace of the applications, whose configuration names the target folder of this one.
pub(crate) fn apps_cargo() -> Command {
    let mut command = cargo();
    command.current_dir(apps());
    command
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// Whether cargo-nextest is installed, which runs each test in a process of its own.
pub(crate) fn has_nextest() -> bool {
    Command::new("cargo-nextest")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program, in cargo's words, which loads the software device.
pub(crate) fn run_on_soft_device(program: &[&str], options: &[OsString]) -> Result<()> {
    soft::ensure()?;
    run(cargo().args(["run", "--quiet"]).args(program).arg("--").args(options))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::workspace_of;

    #[test]
    fn a_clone_that_has_moved_is_the_workspace() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        assert_eq!(workspace_of(Some(Path::new("/moved/xtask/launcher"))), Path::new("/moved"));
        assert_eq!(Some(workspace_of(Some(Path::new("/elsewhere/package")))), here);
        assert_eq!(Some(workspace_of(None)), here);
    }
}
