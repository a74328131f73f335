//! The program behind the alias `cargo xtask`: compiles xtask, prints a message if that takes a while, and runs it. In a new clone it
//! begins to build the software device meanwhile, for the commands that need the device.
//!
//! The alias runs this program with `--quiet`, since cargo's own lines would stand above the output of every command.
//! But then cargo is silent too while it compiles xtask with its dependencies, which takes a minute the first time.
//! This program has no dependencies and starts at once.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

#[path = "../../../crates/cargo-rumba/src/installed.rs"]
mod installed;

/// The commands that build the software device, whatever else they do.
const WITH_DEVICE: [&str; 3] = ["ci", "demo", "test"];

/// A build that takes longer is spoken of.
const SILENCE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let program = match std::env::current_exe() {
        Ok(own) => own.with_file_name("xtask"),
        Err(error) => return fail(&format!("where this program lies is not known: {error}")),
    };
    if let Err(message) = build(&program) {
        return fail(&message);
    }
    let error = Command::new(&program).args(std::env::args_os().skip(1)).exec();
    fail(&format!("could not start {}: {error}", program.display()))
}

/// Whether this is the first command in a clone, it needs the software device, and no archive's device is installed.
fn is_first_with_device(program: &Path) -> bool {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let needs_device = matches!(&arguments[..], [command] if WITH_DEVICE.iter().any(|name| command == name));
    let is_installed = || installed::library().is_some_and(|file| file.with_file_name(installed::RECORD).exists());
    needs_device && !program.exists() && !is_installed()
}

/// Cargo downloads for the build that it begins first, whose progress is shown.
const AHEAD: Duration = Duration::from_secs(1);

/// Begins to build the software device, of which LLVM compiles the machine on one core for as long as all else takes. The command that
/// needs the device waits for this build, or repeats what has failed in it, with its messages.
fn begin_device() -> Option<Child> {
    std::thread::sleep(AHEAD);
    let mut cargo = cargo().ok()?;
    cargo.args(["build", "--release", "--package", "rumba-soft-library", "--quiet"]);
    cargo.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// Cargo in the workspace where this program lies now, not where it was compiled: a clone that has moved is not compiled again.
fn cargo() -> Result<Command, &'static str> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").ok_or("`cargo xtask` is run by cargo, which says where it lies")?;
    cargo.current_dir(Path::new(&own).join("../.."));
    Ok(cargo)
}

/// Brings xtask up to date. The first time cargo shows its progress; later its errors only, and a line if it takes long.
fn build(program: &Path) -> Result<(), String> {
    let is_first = is_first_with_device(program);
    let mut cargo = cargo()?;
    // The gallery is named, not built: its dependencies then have the features here that it needs, and are compiled once.
    cargo.args(["build", "--package", "xtask", "--package", "gallery-all", "--bin", "xtask"]);
    let (done, is_done) = channel::<()>();
    if program.exists() {
        cargo.arg("--quiet");
        std::thread::spawn(move || {
            if is_done.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("bringing `cargo xtask` up to date ...");
            }
        });
    } else {
        eprintln!("`cargo xtask` is compiled first, which takes a minute or two and happens once");
    }
    let no_cargo = |error| format!("could not start cargo: {error}");
    let mut building = cargo.spawn().map_err(no_cargo)?;
    let device = if is_first { begin_device() } else { None };
    let status = building.wait().map_err(no_cargo)?;
    drop(done);
    if status.success() {
        return Ok(());
    }
    if let Some(mut device) = device {
        // The build may have ended.
        let _ = device.kill();
    }
    Err("`cargo xtask` does not compile".to_owned())
}

fn fail(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::FAILURE
}
