//! `cargo xtask aarch64`: builds the workspace for AArch64 Linux and runs tests of it under emulation.

use crate::{setup, shell};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Build for AArch64 Linux and run the tests under emulation (qemu)
///
/// Kernels are compiled on this machine: what is emulated is the runtime, the driver's calls and the software device. The tests of
/// the builder of kernels and of `cargo xtask` start compilers, and are not among them. On an AArch64 machine `cargo xtask test` runs all of
/// them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask aarch64              build the whole workspace, and run the tests
  cargo xtask aarch64 --build      only build
  cargo xtask aarch64 -p rumba-vm -- popc
                                   only tests of one package whose name contains popc")]
pub(crate) struct Args {
    /// Only build the workspace with its tests
    #[arg(long, conflicts_with_all = ["package", "args"])]
    build: bool,
    /// Only the tests of this package; may be given several times
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
    /// Use sudo without asking, where a package of the distribution is missing
    #[arg(long)]
    yes: bool,
    /// Arguments for the tests, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

/// Where Debian's cross compilers have AArch64's libraries.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// What has the linker, the libraries and the emulator.
const PACKAGES: [&str; 3] = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"];

/// What runs without starting a compiler.
const EMULATED: [&str; 9] = [
    "rumba-ptx",
    "rumba-checks",
    "rumba-interface",
    "rumba-vm",
    "rumba-soft",
    "rumba-driver",
    "cuda_std",
    "rumba-host",
    "rumba-tests",
];

pub(crate) fn run(args: Args) -> Result<()> {
    if cfg!(target_arch = "aarch64") {
        bail!("this is an AArch64 machine: `cargo xtask test` runs the tests on it");
    }
    setup::ensure()?;
    install(args.yes)?;
    let library = shell::target().join(TARGET).join("release/librumba_soft_device.so");
    shell::run(cargo("build", &library).args(["--release", "--package", "rumba-soft-library"]))?;
    if args.build {
        return shell::run(cargo("build", &library).args(["--workspace", "--all-targets"]));
    }
    let packages: Vec<&str> = match &args.package[..] {
        [] => EMULATED.to_vec(),
        packages => packages.iter().map(String::as_str).collect(),
    };
    let mut tests = cargo("test", &library);
    tests.args(["--no-fail-fast", "--lib", "--tests"]);
    tests.args(packages.iter().flat_map(|package| ["--package", package]));
    shell::run(tests.arg("--").args(&args.args))
}

/// A command of cargo that builds for the target, and runs there what it builds.
fn cargo(command: &str, library: &Path) -> Command {
    let mut cargo = shell::cargo();
    cargo
        .args([command, "--target", TARGET])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{EMULATOR} -L {LIBRARIES}"),
        )
        .env("RUMBA_SOFT_LIBRARY", library);
    cargo
}

/// Installs the target's library, linker and emulator, if they are missing.
fn install(yes: bool) -> Result<()> {
    let sysroot = shell::output(
        Command::new("rustc")
            .current_dir(shell::workspace())
            .args(["--print", "sysroot"]),
    )?;
    if !Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir() {
        let rustup = setup::rustup().with_context(|| {
            format!("Rust's library for {TARGET} is missing, and there is no rustup to install it: \
                     install it beside your rustc (in Debian it is the package libstd-rust-dev of the architecture arm64)")
        })?;
        shell::run(
            Command::new(rustup)
                .current_dir(shell::workspace())
                .args(["target", "add", TARGET]),
        )?;
    }
    let is_missing = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        !std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if is_missing(LINKER) || is_missing(EMULATOR) {
        let reason = "A linker and an emulator for AArch64 are missing.";
        match setup::apt_install(&PACKAGES, reason, yes)? {
            Some(done) => eprintln!("{done}"),
            None => bail!(
                "`{LINKER}` and `{EMULATOR}` are needed; Debian's packages {} have them",
                PACKAGES.join(", ")
            ),
        }
    }
    Ok(())
}
