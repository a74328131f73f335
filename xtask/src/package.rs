//! `cargo xtask package`: makes and builds the archives that a release consists of, and looks for what would make the release a bad one.
//!
//! The command publishes nothing. CONTRIBUTING.md, "Releasing", has the steps.

mod device;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use cargo_rumba::source::{LIBRARIES, RUMBA};
use comfy_table::Table;
use cuda_builder::toolchain::cargo_home;
use serde::Deserialize;

use crate::shell;

/// Archive and build the packages that are published; check dependencies and, with --baseline, the public items
///
/// The archives are built from each other, as from a registry, and a program from them, with the kernels of the runtime. `cargo deny` checks licences, advisories and sources of dependencies,
/// and `cargo semver-checks` compares the libraries that users name with those of a git revision, if these programs are installed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask package                      archives, their builds, licences and advisories
  cargo xtask package --baseline v0.1.0    and which public items are not those of the tag v0.1.0
  cargo xtask package --device             the software device alone, as a Python wheel")]
pub(crate) struct Args {
    /// A git revision to compare the public items with
    #[arg(long, value_name = "REV")]
    baseline: Option<String>,
    /// Build a wheel of the software device, for `cargo rumba setup --device` and pip, and no archives
    #[arg(long, conflicts_with = "baseline")]
    device: bool,
}

/// The size of an archive above which crates.io refuses it.
const LIMIT: u64 = 10 << 20;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    repository: Option<String>,
    /// The registries that the package may be published to; without a list, any.
    publish: Option<Vec<String>>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    if args.device {
        return device::run();
    }
    let metadata = shell::output(shell::cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let Metadata { mut packages, target_directory } = serde_json::from_str(&metadata)?;
    packages.retain(|package| package.publish.is_none());
    forget(&packages)?;
    // Cargo builds the archives in a folder of their own: tests would find the device's libraries beside them.
    let target = target_directory.join("packages");
    let mut cargo = shell::cargo();
    cargo.args(["package", "--allow-dirty", "--target-dir"]).arg(&target);
    shell::run(cargo.args(packages.iter().flat_map(|package| ["--package", &package.name])))?;

    let archives = target.join("package");
    build_kernels(&packages, &archives)?;

    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING).set_header(["package", "version", "archive"]);
    for Package { name, version, .. } in &packages {
        let archive = archives.join(format!("{name}-{version}.crate"));
        let size = fs::metadata(&archive).with_context(|| format!("no archive {}", archive.display()))?.len();
        ensure!(size < LIMIT, "{} has {size} bytes; crates.io takes less than {LIMIT}", archive.display());
        table.add_row([name, version, &format!("{} KiB", size.div_ceil(1024))]);
    }
    println!("{table}");
    if packages.iter().any(|package| package.repository.as_deref().is_none_or(str::is_empty)) {
        println!(
            "note: no package can be published before its manifest names a repository (CONTRIBUTING.md, \"Releasing\")"
        );
    }
    deny()?;
    match args.baseline {
        Some(baseline) => compare(&baseline),
        None => Ok(()),
    }
}

/// Removes what cargo has unpacked of earlier archives: of a version that it has unpacked, cargo does not look at a new archive.
fn forget(packages: &[Package]) -> Result<()> {
    let sources = cargo_home().context("cargo has no folder")?.join("registry/src");
    for source in fs::read_dir(&sources).into_iter().flatten() {
        let source = source?;
        // The registries of folders, as `cargo package` makes one of the archives, have no host in their name.
        if !source.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for Package { name, version, .. } in packages {
            let folder = source.path().join(format!("{name}-{version}"));
            if folder.exists() {
                fs::remove_dir_all(&folder).with_context(|| format!("could not remove {}", folder.display()))?;
            }
        }
    }
    Ok(())
}

/// Builds a program that depends on the archives, with the kernels that the build script of the runtime looks for there. Cargo builds packages
/// without their features.
fn build_kernels(packages: &[Package], archives: &Path) -> Result<()> {
    let folder = archives.join("program");
    let mut patches = "[patch.crates-io]\n".to_owned();
    for Package { name, version, .. } in packages {
        // Cargo has left what it unpacked and built.
        writeln!(patches, "{name} = {{ path = {:?} }}", archives.join(format!("{name}-{version}")))?;
    }
    let manifest = format!(
        "[workspace]\n\n[package]\nname = \"program\"\nedition = \"2024\"\n\n[dependencies]\n{} = \
         {{ version = \"*\", features = [\"algorithms\", \"linalg\"] }}\n",
        RUMBA.package
    );
    fs::create_dir_all(folder.join("src")).and_then(|()| fs::create_dir_all(folder.join(".cargo")))?;
    fs::write(folder.join(".cargo/config.toml"), patches)?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), "fn main() {}\n")?;
    fs::copy(shell::workspace().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    println!("building a program with the kernels of the archives ...");
    shell::run(shell::cargo().args(["build", "--quiet"]).current_dir(&folder).env_remove("CARGO_TARGET_DIR"))
}

/// Checks the dependencies by `deny.toml`.
fn deny() -> Result<()> {
    if !has("cargo-deny") {
        return Ok(());
    }
    let mut checks = vec!["bans", "licenses", "sources"];
    let fetched = shell::cargo().args(["deny", "fetch", "db"]).stderr(Stdio::null()).status()?;
    if fetched.success() {
        checks.push("advisories");
    } else {
        println!("note: the database of advisories could not be fetched: advisories are not checked");
    }
    shell::run(shell::cargo().args(["deny", "check"]).args(checks))
}

/// Compares the public items of the libraries that users name with those of a revision. The other packages have no promise to keep: each
/// version of a library works with one version of them only.
fn compare(baseline: &str) -> Result<()> {
    if !has("cargo-semver-checks") {
        bail!("--baseline needs cargo-semver-checks");
    }
    let mut cargo = shell::cargo();
    // Not all features: cust does not build without a patch of the workspace.
    cargo.args(["semver-checks", "--default-features", "--baseline-rev", baseline]);
    shell::run(cargo.args(LIBRARIES.iter().flat_map(|library| ["--package", library.package])))
}

/// Whether a program of cargo's is installed; says how to install it.
fn has(program: &str) -> bool {
    let installed = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = installed.is_ok_and(|status| status.success());
    if !has {
        println!("note: {program} is not installed: `cargo install --locked {program}`");
    }
    has
}
