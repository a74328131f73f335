//! The software device from an archive, which spares the user its build: a Python wheel that `cargo xtask package --device` has made.
//!
//! An archive is a file that the user names, or a package that pip has installed. Nothing here downloads one.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rumba_interface::{RELEASE, VERSION};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::installed::FILE;
use crate::{libcuda, place, soft};

/// The folder of the libraries and their record in an archive: a package of Python.
pub const PACKAGE: &str = "rumba_device";

pub use crate::installed::RECORD;

/// The files of an archive that hold the device.
pub const LIBRARIES: [&str; 2] = [FILE, libcuda::FILE];

/// The packages from which the libraries are built, as folders in `crates`.
const PACKAGES: [&str; 10] = [
    "rumba-checks",
    "rumba-driver",
    "rumba-driver/libcuda",
    "rumba-interface",
    "rumba-jit",
    "rumba-llvm",
    "rumba-ptx",
    "rumba-soft",
    "rumba-soft/library",
    "rumba-vm",
];

/// Why the device of an archive was not installed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The path names nothing.
    #[error(
        "there is no `{path}`; `--device` takes a wheel that `cargo xtask package --device` has made, or its unpacked folder"
    )]
    Missing {
        /// The path that the user named.
        path: String,
    },
    /// Python could not unpack the wheel.
    #[error(
        "`{path}` could not be unpacked: {cause}. Without Python (apt-get install python3), unpack the archive by another program and name \
         the folder `rumba_device` of it; if the archive is damaged, copy it again"
    )]
    Packed {
        /// The wheel.
        path: String,
        /// The last line of Python's message.
        cause: String,
    },
    /// The folder is of something else, or incomplete.
    #[error(
        "`{path}` is no software device, or a damaged one: {cause}. Copy the archive again, or let `cargo rumba setup` build the device"
    )]
    Damaged {
        /// The archive.
        path: String,
        /// The damage.
        cause: String,
    },
    /// The libraries were built for other machines.
    #[error(
        "the software device of `{path}` is for {platform} and does not load here: {cause}. `cargo rumba setup` without `--device` builds the \
         device for this machine"
    )]
    Platform {
        /// The archive.
        path: String,
        /// The platform of the archive, as Python names it.
        platform: String,
        /// The difference.
        cause: String,
    },
    /// The libraries are of another release.
    #[error(
        "`{path}` has the software device of Rumba {found}, and this is Rumba {wanted}: take the archive of this release, or let `cargo rumba \
         setup` build the device"
    )]
    Release {
        /// The archive.
        path: String,
        /// The release of the archive and the version of its interface.
        found: String,
        /// The same of this program.
        wanted: String,
    },
    /// The libraries were built from other sources of the same release.
    #[error(
        "the software device of `{path}` was built from other sources than those in `{sources}`: make the archive from these sources by \
         `cargo xtask package --device`, or let `cargo rumba setup` build the device"
    )]
    Sources {
        /// The archive.
        path: String,
        /// The clone of this program.
        sources: String,
    },
}

/// The origin of the libraries in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    release: String,
    interface: u32,
    /// SHA-256 of the sources.
    sources: String,
    /// The platform of the wheel, such as `manylinux_2_34_x86_64`.
    platform: String,
    /// SHA-256 of each library.
    libraries: BTreeMap<String, String>,
}

impl Record {
    /// Describes libraries in a folder, built from sources in another one.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn new(folder: &Path, sources: &Path, platform: &str) -> io::Result<Self> {
        let hash = |name: &str| Ok((name.to_owned(), hex(Sha256::digest(fs::read(folder.join(name))?))));
        Ok(Self {
            release: RELEASE.to_owned(),
            interface: VERSION,
            sources: hash_of_sources(sources)?,
            platform: platform.to_owned(),
            libraries: LIBRARIES.map(hash).into_iter().collect::<io::Result<_>>()?,
        })
    }

    fn read(folder: &Path) -> Result<Self, String> {
        let text = fs::read(folder.join(RECORD)).map_err(|error| format!("{RECORD}: {error}"))?;
        serde_json::from_slice(&text).map_err(|error| format!("{RECORD}: {error}"))
    }

    /// Compares the record with this program and, in a clone, with the clone's sources.
    fn check(&self, path: &Path, sources: Option<&Path>) -> Result<(), ArchiveError> {
        let path = path.display().to_string();
        let architecture = std::env::consts::ARCH;
        if !self.platform.ends_with(&format!("_{architecture}")) {
            let (platform, cause) = (self.platform.clone(), format!("this processor is {architecture}"));
            return Err(ArchiveError::Platform { path, platform, cause });
        }
        if (self.release.as_str(), self.interface) != (RELEASE, VERSION) {
            return Err(ArchiveError::Release {
                path,
                found: format!("{} (interface {})", self.release, self.interface),
                wanted: format!("{RELEASE} (interface {VERSION})"),
            });
        }
        match sources {
            Some(sources) if hash_of_sources(sources).ok().as_ref() != Some(&self.sources) => {
                Err(ArchiveError::Sources { path, sources: sources.display().to_string() })
            }
            _ => Ok(()),
        }
    }
}

/// Installs the device of a wheel, or of the folder that a wheel was unpacked into, for all programs of the user.
///
/// # Errors
/// If the file is no such archive, its libraries do not fit this machine and this program, or they cannot be written.
pub fn install(path: &Path) -> Result<()> {
    let Some(place) = soft::place() else { anyhow::bail!("there is no home directory to put the software device in") };
    let to = place.parent().expect("the place is a file in a folder");
    install_into(path, to, place::clone_of_sources())?;
    eprintln!("installed the software device of {} in {}", path.display(), to.display());
    Ok(())
}

fn install_into(path: &Path, to: &Path, sources: Option<&Path>) -> Result<()> {
    let unpacked = tempfile::tempdir().context("a folder for the archive")?;
    let folder = unpack(path, unpacked.path())?;
    let shown = path.display().to_string();
    let damaged = |cause: String| ArchiveError::Damaged { path: shown.clone(), cause };
    let record = Record::read(&folder).map_err(damaged)?;
    record.check(path, sources)?;
    for name in LIBRARIES {
        let bytes = fs::read(folder.join(name)).map_err(|error| damaged(format!("{name}: {error}")))?;
        if record.libraries.get(name) != Some(&hex(Sha256::digest(bytes))) {
            return Err(damaged(format!("{name} has another hash than in {RECORD}")).into());
        }
        // SAFETY: loading runs the library's initializers. The user has named the library as the one that programs are to load.
        let loaded = unsafe { libloading::Library::new(folder.join(name)) };
        loaded.map_err(|error| ArchiveError::Platform {
            path: shown.clone(),
            platform: record.platform.clone(),
            cause: error.to_string(),
        })?;
    }
    let write = || -> io::Result<()> {
        fs::create_dir_all(to.join(DRIVER))?;
        // The record is last: until then the libraries are those of no archive.
        forget(to)?;
        put(&folder.join(FILE), &to.join(FILE))?;
        put(&folder.join(libcuda::FILE), &to.join(DRIVER).join(libcuda::FILE))?;
        put(&folder.join(RECORD), &to.join(RECORD))
    };
    write().with_context(|| format!("could not put the software device into {}", to.display()))?;
    libcuda::link(Path::new(libcuda::FILE), &to.join(DRIVER).join("libcuda.so"))
}

/// The folder of `libcuda.so.1`, beside the device.
const DRIVER: &str = "driver";

/// The folder of an archive that has the libraries; a wheel is unpacked.
fn unpack(path: &Path, into: &Path) -> Result<PathBuf, ArchiveError> {
    let shown = || path.display().to_string();
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    if !path.is_file() {
        return Err(ArchiveError::Missing { path: shown() });
    }
    let mut python = Command::new("python3");
    // Isolated, so that no module of the current folder is imported.
    python.args(["-I", "-m", "zipfile", "-e"]).args([path, into]).stdin(Stdio::null());
    let cause = match python.output() {
        Ok(output) if output.status.success() => return Ok(into.join(PACKAGE)),
        Ok(output) => String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned(),
        Err(error) => format!("python3: {error}"),
    };
    Err(ArchiveError::Packed { path: shown(), cause })
}

/// Copies a file under a new inode: a library that changes under a running program ends it.
pub(crate) fn put(from: &Path, to: &Path) -> io::Result<()> {
    let incoming = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(Path::new(".")))?;
    fs::copy(from, incoming.path())?;
    incoming.persist(to)?;
    Ok(())
}

/// Removes the record of an archive from the folder of the installed device, whose library is about to change.
pub(crate) fn forget(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(RECORD)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether the installed device has the hash that its record states.
fn is_whole(folder: &Path) -> bool {
    let library = fs::read(folder.join(FILE)).map(|bytes| hex(Sha256::digest(bytes)));
    Record::read(folder).is_ok_and(|record| record.libraries.get(FILE) == library.ok().as_ref())
}

/// Whether the archive of the installed device is known, whatever the sources are now.
pub(crate) fn has_record() -> bool {
    soft::place().is_some_and(|place| place.with_file_name(RECORD).is_file())
}

/// Whether programs load the installed device of an archive that fits this program and its sources. In Rumba's workspace they do so
/// until cargo has built the device there. A device that pip has installed is copied to the place of the installed device first.
pub fn is_installed() -> bool {
    if place::loads_build() && soft::built().exists() {
        return false;
    }
    let Some(place) = soft::place() else { return false };
    let folder = place.parent().expect("the place is a file in a folder");
    let fits = |folder: &Path| {
        Record::read(folder).is_ok_and(|record| record.check(folder, place::clone_of_sources()).is_ok())
    };
    match (place.is_file(), folder.join(RECORD).is_file()) {
        (true, true) if fits(folder) && is_whole(folder) => return true,
        // Cargo has built it, and builds it again when its sources change.
        (true, false) => return false,
        _ => {}
    }
    let Some(package) = installed_by_pip().filter(|package| fits(package)) else { return false };
    match install(&package) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("note: the software device of pip's package is not used: {error:#}");
            false
        }
    }
}

/// The folder of the driver library of an installed archive that fits.
pub(crate) fn driver() -> Option<PathBuf> {
    is_installed().then(soft::place)?.map(|place| place.with_file_name(DRIVER))
}

/// The folder of the package in Python's path: that of the active virtual environment, of the user or of the machine.
fn installed_by_pip() -> Option<PathBuf> {
    let find = format!(
        "import importlib.util as i; p = i.find_spec({PACKAGE:?}); print(p.submodule_search_locations[0] if p else '')"
    );
    let mut python = Command::new("python3");
    // In the current folder Python would find a folder of that name.
    let output = python.args(["-c", &find]).current_dir("/").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let folder = Path::new(text.trim());
    (output.status.success() && folder.is_absolute()).then(|| folder.to_owned())
}

/// The hash of the manifests and the sources of the libraries' packages, by their names in a clone.
fn hash_of_sources(root: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    for package in PACKAGES {
        let folder = root.join("crates").join(package);
        add(&folder.join("Cargo.toml"), package, &mut hash)?;
        add(&folder.join("src"), package, &mut hash)?;
    }
    Ok(hex(hash.finalize()))
}

/// Adds a file, or the files below a folder in the order of their names.
fn add(path: &Path, name: &str, hash: &mut Sha256) -> io::Result<()> {
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        return entries.iter().try_for_each(|entry| {
            add(&entry.path(), &format!("{name}/{}", entry.file_name().to_string_lossy()), hash)
        });
    }
    let bytes = fs::read(path)?;
    hash.update(format!("{name} {}\n", bytes.len()));
    hash.update(bytes);
    Ok(())
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use serde_json::Value;
    use tempfile::TempDir;

    use super::{ArchiveError, DRIVER, FILE, LIBRARIES, PACKAGE, PACKAGES, RECORD, Record, install_into};
    use crate::{libcuda, place};

    /// A clone with a source file for each package of the libraries.
    fn sources() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for package in PACKAGES {
            let folder = root.path().join("crates").join(package);
            fs::create_dir_all(folder.join("src/part")).unwrap();
            fs::write(folder.join("Cargo.toml"), "[package]\n").unwrap();
            fs::write(folder.join("src/part/mod.rs"), format!("// {package}\n")).unwrap();
        }
        root
    }

    /// An unpacked archive whose libraries are small, built from these sources.
    fn archive(sources: &Path) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(PACKAGE);
        fs::create_dir(&folder).unwrap();
        let source = root.path().join("library.rs");
        fs::write(&source, "#[unsafe(no_mangle)] pub extern \"C\" fn rumba_soft_device() {}\n").unwrap();
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-o"]).arg(folder.join(FILE)).arg(&source);
        assert!(rustc.status().unwrap().success());
        fs::copy(folder.join(FILE), folder.join(libcuda::FILE)).unwrap();
        let platform = format!("manylinux_2_17_{}", std::env::consts::ARCH);
        write(&folder, &Record::new(&folder, sources, &platform).unwrap());
        root
    }

    fn write(folder: &Path, record: &Record) {
        fs::write(folder.join(RECORD), serde_json::to_vec(record).unwrap()).unwrap();
    }

    /// Installs a copy of an archive after a change, which is refused.
    fn refused_after(archive: &TempDir, sources: &TempDir, change: impl FnOnce(&Path, Record)) -> ArchiveError {
        let archive = archive.path().join(PACKAGE);
        let copy = tempfile::tempdir().unwrap();
        for name in LIBRARIES.iter().chain([&RECORD]) {
            fs::copy(archive.join(name), copy.path().join(name)).unwrap();
        }
        change(copy.path(), Record::read(&archive).unwrap());
        let place = tempfile::tempdir().unwrap();
        let error = install_into(copy.path(), place.path(), Some(sources.path())).unwrap_err();
        assert_eq!(place.path().read_dir().unwrap().count(), 0, "nothing is installed");
        error.downcast().unwrap()
    }

    #[test]
    fn a_wheel_and_a_folder_are_installed() {
        let sources = sources();
        let archive = archive(sources.path());
        let wheel = archive.path().join("device.whl");
        let mut python = Command::new("python3");
        python.current_dir(archive.path()).args(["-m", "zipfile", "-c", "device.whl", PACKAGE]);
        assert!(python.status().unwrap().success());
        for path in [wheel, archive.path().join(PACKAGE)] {
            let place = tempfile::tempdir().unwrap();
            install_into(&path, place.path(), Some(sources.path())).unwrap();
            // A second time, over the files of the first.
            install_into(&path, place.path(), None).unwrap();
            let own = |name: &str| fs::read(archive.path().join(PACKAGE).join(name)).unwrap();
            assert_eq!(fs::read(place.path().join(FILE)).unwrap(), own(FILE));
            assert_eq!(fs::read(place.path().join(DRIVER).join("libcuda.so")).unwrap(), own(libcuda::FILE));
            let record = Record::read(place.path()).unwrap();
            record.check(place.path(), Some(sources.path())).unwrap();
            // An edit of the sources makes it the device of other ones.
            let edited = sources.path().join("crates/rumba-vm/src/part/mod.rs");
            let before = fs::read(&edited).unwrap();
            fs::write(&edited, "// other\n").unwrap();
            let error = record.check(place.path(), Some(sources.path())).unwrap_err();
            assert!(matches!(error, ArchiveError::Sources { .. }), "{error}");
            fs::write(&edited, before).unwrap();
            assert!(super::is_whole(place.path()));
            fs::write(place.path().join(FILE), "damaged since").unwrap();
            assert!(!super::is_whole(place.path()));
        }
    }

    #[test]
    fn each_difference_has_its_error() {
        let sources = sources();
        let archive = archive(sources.path());
        let refused = |change: fn(&Path, Record)| refused_after(&archive, &sources, change);
        let error = refused(|folder, record| write(folder, &Record { release: "7.1.0".into(), ..record }));
        assert!(matches!(&error, ArchiveError::Release { found, .. } if found.starts_with("7.1.0 ")), "{error}");
        let error = refused(|folder, record| write(folder, &Record { interface: 0, ..record }));
        assert!(matches!(error, ArchiveError::Release { .. }), "{error}");
        let error =
            refused(|folder, record| write(folder, &Record { platform: "manylinux_2_17_s390x".into(), ..record }));
        assert!(matches!(&error, ArchiveError::Platform { cause, .. } if cause.contains("processor")), "{error}");
        let error = refused(|folder, record| write(folder, &Record { sources: String::new(), ..record }));
        assert!(matches!(error, ArchiveError::Sources { .. }), "{error}");
        for name in LIBRARIES.iter().chain([&RECORD]) {
            let error = refused_after(&archive, &sources, |folder, _| fs::remove_file(folder.join(name)).unwrap());
            assert!(matches!(&error, ArchiveError::Damaged { cause, .. } if cause.starts_with(*name)), "{error}");
        }
        let error = refused(|folder, _| {
            let library = folder.join(FILE);
            let bytes = fs::read(&library).unwrap();
            fs::write(library, &bytes[..bytes.len() / 2]).unwrap();
        });
        assert!(matches!(&error, ArchiveError::Damaged { cause, .. } if cause.contains("hash")), "{error}");
        // As of a C library that this machine lacks: the loader refuses the file.
        let error = refused(|folder, record| {
            fs::write(folder.join(libcuda::FILE), "of another format").unwrap();
            write(folder, &with_hashes_of(folder, record));
        });
        assert!(matches!(error, ArchiveError::Platform { .. }), "{error}");
    }

    /// The record with the hashes that the libraries have now.
    fn with_hashes_of(folder: &Path, record: Record) -> Record {
        let libraries = Record::new(folder, sources().path(), "").unwrap().libraries;
        Record { libraries, ..record }
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "no archive").unwrap();
        let refused =
            |path: &Path| -> ArchiveError { install_into(path, place.path(), None).unwrap_err().downcast().unwrap() };
        let error = refused(Path::new("/nonexistent/device.whl"));
        assert!(matches!(error, ArchiveError::Missing { .. }), "{error}");
        let error = refused(file.path());
        assert!(matches!(&error, ArchiveError::Packed { cause, .. } if cause.contains("zip")), "{error}");
        let error = refused(place.path());
        assert!(matches!(error, ArchiveError::Damaged { .. }), "{error}");
    }

    /// A package that is missing in the list could change without a new hash.
    #[test]
    fn the_packages_are_those_of_the_libraries() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(place::compiled_sources()).args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: Value = serde_json::from_slice(&cargo.output().unwrap().stdout).unwrap();
        let text = |value: &Value| value.as_str().map(PathBuf::from);
        let mut found = BTreeSet::new();
        let mut next: Vec<PathBuf> = ["rumba-soft/library", "rumba-driver/libcuda"].map(PathBuf::from).into();
        while let Some(folder) = next.pop() {
            let manifest = place::compiled_sources().join("crates").join(&folder).join("Cargo.toml");
            let packages = metadata["packages"].as_array().unwrap();
            let package = packages.iter().find(|package| text(&package["manifest_path"]).as_ref() == Some(&manifest));
            let dependencies = package.expect("a member")["dependencies"].as_array().unwrap();
            let own = dependencies.iter().filter(|on| on["kind"].is_null()).filter_map(|on| text(&on["path"]));
            next.extend(own.map(|own| own.strip_prefix(place::compiled_sources().join("crates")).unwrap().to_owned()));
            found.insert(folder);
        }
        assert_eq!(found, PACKAGES.map(PathBuf::from).into());
    }
}
