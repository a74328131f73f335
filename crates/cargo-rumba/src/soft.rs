//! The software device as the library that programs load: built by cargo when its sources have changed, or of an archive, and put
//! where all programs of the user find it.
//!
//! Cargo decides whether there is something to build. Programs in Rumba's own workspace are told where cargo's file is; all others
//! find the copy in the user's folder for data.

use crate::installed::FILE;
use crate::{archive, place, quiet, shell};
use anyhow::{Context, Result, bail};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The variable by which programs are told of a library.
const VARIABLE: &str = "RUMBA_SOFT_LIBRARY";

pub use crate::installed::library as place;

/// A build that takes longer is spoken of.
const SILENCE: Duration = Duration::from_secs(2);

/// The file that cargo makes.
pub fn built() -> PathBuf {
    place::build().join("release").join(FILE)
}

/// Whether another cargo builds in release where the library is built: the launcher of `cargo xtask` begins a first build.
pub fn is_being_built() -> bool {
    let lock = File::open(place::build().join("release/.cargo-lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
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
    if !place::has_sources() {
        return match place() {
            Some(place) if place.is_file() => Ok(()),
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
    let (done, is_done) = channel::<()>();
    let mut waiting = None;
    if is_being_built() {
        cargo.arg("--quiet");
        waiting = Some(quiet::Spinner::new(
            "the software device is being built already, which takes a minute or two".to_owned(),
        ));
    } else if built().exists() {
        cargo.arg("--quiet");
        std::thread::spawn(move || {
            if is_done.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("building the software device, whose sources have changed ...");
            }
        });
    } else {
        eprintln!("the software device is built first, which takes a minute or two, and again when its sources change");
        eprintln!("(`{} setup --device FILE` installs the device of a wheel instead)", place::program());
    }
    let outcome = shell::run(&mut cargo);
    drop((done, waiting));
    outcome?;
    install()
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

/// Whether two files are the same, as far as size and content go.
fn is_same(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| path.metadata().ok().map(|metadata| metadata.len());
    length(one).is_some() && length(one) == length(other) && std::fs::read(one).ok() == std::fs::read(other).ok()
}

#[cfg(test)]
mod tests {
    use super::is_same;

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
