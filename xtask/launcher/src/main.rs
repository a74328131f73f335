//! The program behind the alias `cargo xtask`: compiles xtask, prints a message if that takes a while, and runs it.
//!
//! The alias runs this program with `--quiet`, since cargo's own lines would stand above the output of every command.
//! But then cargo is silent too while it compiles xtask with its dependencies, which takes a minute the first time.
//! This program has no dependencies and starts at once.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

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

/// Brings xtask up to date. The first time cargo shows its progress; later its errors only, and a line if it takes long.
fn build(program: &Path) -> Result<(), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Where the workspace lies now, not where this program was compiled: a clone that has moved is not compiled again.
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").ok_or("`cargo xtask` is run by cargo, which says where it lies")?;
    cargo.current_dir(Path::new(&own).join("../.."));
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
    let status = cargo.status();
    drop(done);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("`cargo xtask` does not compile".to_owned()),
        Err(error) => Err(format!("could not start cargo: {error}")),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::FAILURE
}
