//! Compiled crates that projects share: the standard library and crates of registries, which are the same in every project. The
//! first build in a target folder begins with copies of the libraries that an earlier build of the user compiled.
//!
//! Cargo decides whether a copy is fresh, as for libraries that it compiled there. Crates in working copies are never kept: cargo
//! compares their files by time, and another project may have had the same path. A missing cache costs time, nothing else.

use std::collections::HashSet;
use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cargo::TARGET;
use crate::stamp;

/// The folders of a target folder: files for the host, which are macros and build scripts, and files for the device.
const PARTS: [&str; 2] = ["release", TARGET];

/// The folders of a part in which cargo has a file or a folder for each crate.
const FOLDERS: [&str; 3] = [".fingerprint", "build", "deps"];

/// Libraries of compilers and flags that were not built for so long are removed.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The crates of a build that projects share.
#[derive(Debug, Default)]
pub(crate) struct Crates {
    /// Names of packages and of their targets, with underscores.
    pub(crate) names: HashSet<String>,
    /// Whether the build compiled one of them.
    pub(crate) compiled: bool,
}

/// The libraries of the user's last build with the same compiler and flags.
pub(crate) struct Libraries {
    folder: PathBuf,
}

impl Libraries {
    /// The libraries of a compiler with flags, or `None` if the user has no folder for caches.
    pub(crate) fn new(key: &str) -> Option<Self> {
        Some(Self { folder: cache()?.join("device-libraries").join(&stamp::hash(key)[..12]) })
    }

    /// Copies the libraries into a target folder in which nothing was built yet.
    pub(crate) fn restore(&self, target_dir: &Path) {
        let is_new = PARTS.iter().all(|part| !target_dir.join(part).exists());
        if is_new && self.folder.is_dir() {
            // A copy that ends early is not seen by cargo.
            let incoming = target_dir.join("incoming");
            let place = |part: &&str| fs::rename(incoming.join(part), target_dir.join(part));
            let _ = copy(&self.folder, &incoming).and_then(|()| PARTS.iter().try_for_each(place));
            let _ = fs::remove_dir_all(incoming);
        }
    }

    /// Keeps the shared libraries of a target folder in place of those that were kept before.
    pub(crate) fn keep(&self, target_dir: &Path, crates: &Crates) {
        if crates.compiled && self.replace(target_dir, &crates.names).is_ok() {
            self.remove_old();
        }
    }

    fn replace(&self, target_dir: &Path, names: &HashSet<String>) -> io::Result<()> {
        let incoming = self.folder.with_extension(std::process::id().to_string());
        let gather = || {
            for part in PARTS.map(|part| if part == TARGET { format!("{part}/release") } else { part.to_owned() }) {
                for folder in FOLDERS {
                    let place = incoming.join(&part).join(folder);
                    fs::create_dir_all(&place)?;
                    let from = target_dir.join(&part).join(folder);
                    for entry in from.read_dir().into_iter().flatten().flatten() {
                        if is_of(&entry.file_name().to_string_lossy(), names) {
                            copy(&entry.path(), &place.join(entry.file_name()))?;
                        }
                    }
                }
            }
            Ok(())
        };
        let gathered = gather().and_then(|()| {
            // A build that copies the old files meanwhile reads open files to the end; cargo compiles the crates whose files it
            // no longer finds.
            let _ = fs::remove_dir_all(&self.folder);
            fs::rename(&incoming, &self.folder)
        });
        gathered.inspect_err(|_| drop(fs::remove_dir_all(&incoming)))
    }

    fn remove_old(&self) {
        let siblings = self.folder.parent().and_then(|folder| folder.read_dir().ok());
        for entry in siblings.into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
            if age.is_some_and(|age| age > KEPT_FOR) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The user's folder for files that can be made again, as programs of the runtime find it.
fn cache() -> Option<PathBuf> {
    let set = |variable| env::var_os(variable).filter(|text| !text.is_empty());
    match set("RUMBA_CACHE") {
        Some(text) if text == "off" => None,
        Some(folder) => std::path::absolute(folder).ok(),
        None => {
            let named = set("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
            Some(named.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("rumba"))
        }
    }
}

/// Whether a file or folder is of one of these crates: cargo writes `libglam-1475d141f0565afe.rlib` and `glam-1475d141f0565afe`.
fn is_of(file: &str, names: &HashSet<String>) -> bool {
    let Some((name, _)) = file.rsplit_once('-') else { return false };
    let name = name.replace('-', "_");
    names.contains(&name) || name.strip_prefix("lib").is_some_and(|name| names.contains(name))
}

/// Copies a file or a folder with the times of its files, which cargo compares.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in from.read_dir()? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to)?;
    File::options().append(true).open(to)?.set_modified(from.metadata()?.modified()?)
}

#[cfg(test)]
mod tests {
    use super::{Crates, Libraries, TARGET};
    use std::fs;
    use std::path::Path;

    fn write(folder: &Path, file: &str, text: &str) {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }

    #[test]
    fn a_new_target_folder_gets_shared_crates_with_their_times() {
        let folder = tempfile::tempdir().expect("a folder");
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let libraries = Libraries { folder: folder.path().join("cache/key") };
        let glam = format!("{TARGET}/release/deps/libglam-0123456789abcdef.rlib");
        let kernels = format!("{TARGET}/release/deps/libkernels-0123456789abcdef.rlib");
        let script = "release/build/num-traits-0123456789abcdef/output";
        for file in [&glam, &kernels, script] {
            write(&first, file, "first");
        }
        let names = ["glam", "num_traits"].map(str::to_owned).into();
        libraries.keep(&first, &Crates { names, compiled: true });

        libraries.restore(&second);
        let modified = |folder: &Path| folder.join(&glam).metadata().unwrap().modified().unwrap();
        assert_eq!(modified(&second), modified(&first));
        assert!(second.join(script).is_file());
        assert!(!second.join(&kernels).exists(), "a crate of the project was kept");

        write(&second, &glam, "second");
        libraries.restore(&second);
        assert_eq!(fs::read_to_string(second.join(&glam)).unwrap(), "second");
    }

    #[test]
    fn a_build_that_compiled_no_shared_crate_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let libraries = Libraries { folder: folder.path().join("cache/key") };
        libraries.keep(folder.path(), &Crates::default());
        assert!(!libraries.folder.exists());
        libraries.restore(&folder.path().join("target"));
        assert!(!folder.path().join("target").exists());
    }
}
