//! The software device as the library that programs load: built by cargo when its sources have changed, or of an archive, and put
//! where all programs of the user find it.
//!
//! Cargo decides whether there is something to build. Programs in Rumba's own workspace are told where cargo's file is; all others
//! find the copy in the user's folder for data.

use crate::{archive, place, shell};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The variable by which programs are told of a library.
const VARIABLE: &str = "RUMBA_SOFT_LIBRARY";

/// The file that cargo builds.
pub(crate) const FILE: &str = "librumba_soft_device.so";

/// A build that takes longer is spoken of.
const SILENCE: Duration = Duration::from_secs(2);

/// The file that cargo makes.
pub(crate) fn built() -> PathBuf {
    place::build().join("release").join(FILE)
}

/// Builds the library and puts it in its place, unless the library there is that of an archive.
///
/// # Errors
/// If the library cannot be built, or neither the library nor the sources of Rumba are there.
pub fn ensure() -> Result<()> {
    if archive::is_installed() { Ok(()) } else { build() }
}

/// Builds the library and puts it in its place.
///
/// # Errors
/// If the library cannot be built, or neither the library nor the sources of Rumba are there.
pub fn build() -> Result<()> {
    let Some(mut cargo) = command()? else { return Ok(()) };
    let (done, is_done) = channel::<()>();
    if built().exists() {
        cargo.arg("--quiet");
        std::thread::spawn(move || {
            if is_done.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("building the software device, whose sources have changed ...");
            }
        });
    } else {
        announce("first");
    }
    let outcome = shell::run(&mut cargo);
    drop(done);
    outcome?;
    install()
}

/// Says why the first command takes so long.
fn announce(when: &str) {
    eprintln!("the software device is built {when}, which takes a minute or two, and again when its sources change");
    eprintln!("(`{} setup --device FILE` installs the device of a wheel instead)", place::program());
}

/// The command that builds the library. `None`: there are no sources, and the library is in its place.
///
/// # Errors
/// If neither the library nor the sources of Rumba are there.
fn command() -> Result<Option<Command>> {
    if !place::has_sources() {
        return match place() {
            Some(place) if place.is_file() => Ok(None),
            _ => bail!(
                "there is no software device, and {}, from which this program was built and would build it, is gone; \
                 install `cargo-rumba` again",
                place::sources().display()
            ),
        };
    }
    let mut cargo = shell::cargo_of_sources()?;
    // Alone: beside other packages its dependencies would have other features, and be built once more.
    cargo.args(["build", "--release", "--package", "rumba-soft-library"]);
    Ok(Some(cargo))
}

/// A build of the library beside other work of this process. [`Building::finish`] waits for it; a build that is dropped is ended.
#[derive(Debug)]
pub struct Building {
    /// `None`: nothing is built.
    cargo: Option<Child>,
    /// What cargo prints.
    printed: File,
}

/// Starts to build the library. Cargo shows nothing, since the other work shows its own progress.
///
/// # Errors
/// If cargo cannot be started, or neither the library nor the sources of Rumba are there.
pub fn start() -> Result<Building> {
    let printed = tempfile::tempfile().context("could not make a temporary file")?;
    let command = if archive::is_installed() { None } else { command()? };
    let cargo = command.map(|mut cargo| {
        if !built().exists() {
            announce("beside the programs");
        }
        cargo.arg("--quiet").stdin(Stdio::null()).stdout(Stdio::null()).stderr(printed.try_clone()?);
        cargo.spawn().with_context(|| format!("could not start {}", shell::describe(&cargo)))
    });
    Ok(Building { cargo: cargo.transpose()?, printed })
}

impl Building {
    /// Waits for the library, and puts it in its place. `wait` is called if the library is not there yet.
    ///
    /// # Errors
    /// If the library was not built: with what cargo printed.
    pub fn finish(mut self, wait: impl FnOnce()) -> Result<()> {
        let Some(cargo) = &mut self.cargo else { return Ok(()) };
        if cargo.try_wait()?.is_none() {
            wait();
        }
        let status = cargo.wait()?;
        if !status.success() {
            let mut printed = String::new();
            self.printed.rewind()?;
            self.printed.read_to_string(&mut printed)?;
            bail!("the software device was not built ({status})\n{}", printed.trim_end());
        }
        install()
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if let Some(cargo) = &mut self.cargo {
            // Both fail where cargo has ended, and then nothing is left to do.
            let _ = cargo.kill();
            let _ = cargo.wait();
        }
    }
}

/// Puts the library that was built where programs look for it.
fn install() -> Result<()> {
    let Some(place) = place() else {
        return Ok(());
    };
    let (built, folder) = (built(), place.parent().unwrap_or(&place));
    let copied = std::fs::create_dir_all(folder).and_then(|()| {
        archive::forget(folder)?;
        if is_same(&built, &place) { Ok(()) } else { archive::put(&built, &place) }
    });
    match copied {
        Ok(()) => Ok(()),
        // Programs in Rumba's own workspace do not need it.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            eprintln!("note: the software device was not put into {}: {error}", folder.display());
            Ok(())
        }
        Err(error) => {
            Err(error).with_context(|| format!("could not put {} into {}", built.display(), folder.display()))
        }
    }
}

/// Tells the programs that this process starts where the library is. A file that the user names is left alone.
pub fn name() {
    let usual = place::sources().join("target/release").join(FILE);
    let named = std::env::var_os(VARIABLE).filter(|path| Path::new(path) != usual);
    if named.is_none() {
        let library = place().filter(|_| archive::is_installed()).unwrap_or_else(built);
        // SAFETY: `main` calls this before there is another thread.
        unsafe { std::env::set_var(VARIABLE, library) };
    }
}

/// The path at which programs look for the library, as `rumba-driver` knows it.
pub fn place() -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
    let folder = data.join("rumba/soft").join(env!("CARGO_PKG_VERSION"));
    Some(folder.join(FILE))
}

/// Whether two files are the same, as far as size and content go.
fn is_same(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| path.metadata().ok().map(|metadata| metadata.len());
    length(one).is_some() && length(one) == length(other) && std::fs::read(one).ok() == std::fs::read(other).ok()
}

#[cfg(test)]
mod tests {
    use super::{Building, is_same};
    use std::process::{Command, Stdio};

    #[test]
    fn a_build_that_fails_tells_what_cargo_printed() {
        let printed = tempfile::tempfile().unwrap();
        let mut cargo = Command::new("sh");
        cargo.args(["-c", "echo 'error: no such crate' >&2; exit 101"]);
        let cargo = cargo.stdin(Stdio::null()).stderr(printed.try_clone().unwrap()).spawn().unwrap();
        let error = Building { cargo: Some(cargo), printed }.finish(|| ()).unwrap_err().to_string();
        assert_eq!(error, "the software device was not built (exit status: 101)\nerror: no such crate");
    }

    #[test]
    fn a_build_that_is_dropped_ends() {
        let cargo = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}", cargo.id()));
        drop(Building { cargo: Some(cargo), printed: tempfile::tempfile().unwrap() });
        assert!(!process.exists());
    }

    #[test]
    fn files_are_compared_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other, nowhere] = ["one", "other", "nowhere"].map(|name| folder.path().join(name));
        std::fs::write(&one, "abc").unwrap();
        std::fs::write(&other, "abd").unwrap();
        assert!(!is_same(&one, &other));
        assert!(!is_same(&one, &nowhere));
        assert!(!is_same(&nowhere, &nowhere));
        std::fs::write(&other, "abc").unwrap();
        assert!(is_same(&one, &other));
    }
}
