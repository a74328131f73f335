//! Remembers what a PTX file and its parts were made of, so that the link stage does nothing twice.
//!
//! Cargo decides whether a crate is compiled again; this module decides only whether the same libraries need to be
//! linked again, and which kernels need to be optimised again. A missing or unreadable file costs time, nothing else.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The record of a finished PTX file.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The file.
    ptx: PathBuf,
    /// Everything that the text depends on.
    key: String,
    /// The text's own hash: the file may have been changed since.
    text: String,
    pub(crate) kernels: Vec<String>,
    pub(crate) arch: String,
}

/// Collects what a text depends on.
pub(crate) struct Key(Sha256);

impl Key {
    /// A key that already depends on the sources of the link stage. All programs with the same link stage make the same text, and find
    /// each other's parts: the build scripts of a package in two profiles, commands, tests.
    pub(crate) fn new() -> Self {
        let mut key = Self(Sha256::new());
        key.value(&env!("CUDA_BUILDER_SOURCES"));
        key
    }

    /// Depends on a value.
    pub(crate) fn value(&mut self, value: &impl Debug) {
        self.0.update(format!("{value:?}\n"));
    }

    /// Depends on a file, which counts as the same while its size and time are.
    pub(crate) fn file(&mut self, path: &Path) {
        let state = path.metadata().ok().map(|metadata| {
            let modified = metadata.modified().ok();
            let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            (metadata.len(), since)
        });
        self.value(&(path, state));
    }

    /// Depends on bytes.
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// The hash of a text, in hexadecimal.
pub(crate) fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Stamp {
    pub(crate) fn new(ptx: &Path, key: String, text: &str, kernels: &[String], arch: String) -> Self {
        Self { ptx: absolute(ptx), key, text: hash(text), kernels: kernels.to_vec(), arch }
    }

    /// A stamp with the key and its text, if the file still has it: of this PTX file, or of the file in which another program has put
    /// the same kernels last.
    pub(crate) fn current(cache: &Cache, ptx: &Path, key: &str) -> Option<(Self, String)> {
        cache.stamps(ptx).into_iter().find_map(|file| {
            let stamp: Self = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
            let text = (stamp.key == key).then(|| std::fs::read_to_string(&stamp.ptx))?.ok()?;
            (stamp.text == hash(&text)).then_some((stamp, text))
        })
    }

    /// Keeps the stamp for a PTX file into which its text was copied. Other programs find the text where it was: a copy may be in a
    /// temporary folder.
    pub(crate) fn store_for(&self, cache: &Cache, ptx: &Path) {
        let ptx = absolute(ptx);
        if ptx != self.ptx {
            let [own, _] = cache.stamps(&ptx);
            Self { ptx, ..self.clone() }.write(&own);
        }
    }

    /// Keeps the stamp. Failing to is no reason to fail the build.
    pub(crate) fn store(&self, cache: &Cache) {
        for file in cache.stamps(&self.ptx) {
            self.write(&file);
        }
    }

    fn write(&self, file: &Path) {
        if let (Some(parent), Ok(json)) = (file.parent(), serde_json::to_vec(self)) {
            let _ = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(file, json));
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The placeholder for a path in the names of our own files.
fn name(path: &Path) -> String {
    hash(&absolute(path).display().to_string())
}

/// The texts of the parts of a crate's PTX, as the last build with the same arguments left them.
#[derive(Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// The folder of stamps.
    stamps: PathBuf,
    /// The inputs that all parts depend on.
    options: String,
}

impl Cache {
    pub(crate) fn new(folder: &Path, crate_dir: &Path, arguments: &[OsString], options: String) -> Self {
        // Builds of a crate with different features do not replace each other's parts.
        let mut own = name(crate_dir);
        if !arguments.is_empty() {
            own = hash(&format!("{own} {arguments:?}"));
        }
        Self { folder: folder.join("parts").join(own), stamps: folder.join("stamps"), options }
    }

    /// The files of stamps: of a PTX file, and of the last build with the same arguments and options, whatever its PTX file.
    fn stamps(&self, ptx: &Path) -> [PathBuf; 2] {
        let build = hash(&format!("{} {}", self.folder.display(), self.options));
        [name(ptx), build].map(|name| self.stamps.join(name).with_extension("json"))
    }

    /// The key of a part, given its bitcode and what else is particular to it.
    pub(crate) fn key(&self, bitcode: &[u8], value: &impl Debug) -> String {
        let mut key = Key(Sha256::new());
        key.value(&(&self.options, value));
        key.bytes(bitcode);
        key.finish()
    }

    /// The text of a part.
    pub(crate) fn find(&self, key: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.folder.join(key)).ok()?;
        // A file that was cut short or changed says so.
        let (hashed, text) = text.split_once('\n')?;
        (hash(text) == hashed).then(|| text.to_owned())
    }

    /// Keeps the text of a part. Failing to is no reason to fail the build.
    pub(crate) fn store(&self, key: &str, text: &str) {
        let _ = std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(self.folder.join(key), format!("{}\n{text}", hash(text))));
    }

    /// Forgets all other parts.
    pub(crate) fn keep<'k>(&self, keys: impl Iterator<Item = &'k str>) {
        let keys: HashSet<&str> = keys.collect();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(|name| keys.contains(name)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, Stamp};
    use std::ffi::OsString;
    use std::path::Path;

    #[test]
    fn parts_are_found_until_others_take_their_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let with = |arguments: &[OsString], options: &str| {
            Cache::new(folder.path(), "kernels".as_ref(), arguments, options.to_owned())
        };
        let cache = |options: &str| with(&[], options);
        let first = cache("O3");
        let key = first.key(b"bitcode", &80);
        assert_ne!(key, first.key(b"bitcodf", &80));
        assert_ne!(key, first.key(b"bitcode", &90));
        assert_ne!(key, cache("O2").key(b"bitcode", &80));
        assert_eq!(first.find(&key), None);
        first.store(&key, "ret;\n");
        assert_eq!(first.find(&key).as_deref(), Some("ret;\n"));
        std::fs::write(first.folder.join(&key), "cut").expect("a file");
        assert_eq!(first.find(&key), None);
        first.store(&key, "ret;\n");
        with(&["--features=one".into()], "O3").keep(["other"].into_iter());
        assert_eq!(first.find(&key).as_deref(), Some("ret;\n"));
        first.keep(["other"].into_iter());
        assert_eq!(first.find(&key), None);
    }

    #[test]
    fn a_text_is_found_for_another_file_until_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = |options: &str| Cache::new(folder.path(), "kernels".as_ref(), &[], options.to_owned());
        let [first, second] = ["first.ptx", "second.ptx"].map(|name| folder.path().join(name));
        let text = |options: &str, ptx: &Path, key| Stamp::current(&cache(options), ptx, key).map(|(_, text)| text);
        assert_eq!(text("O3", &first, "key"), None);
        std::fs::write(&first, "ret;\n").expect("a file");
        Stamp::new(&first, "key".to_owned(), "ret;\n", &[], "sm_80".to_owned()).store(&cache("O3"));
        for ptx in [&first, &second] {
            assert_eq!(text("O3", ptx, "key").as_deref(), Some("ret;\n"));
            assert_eq!(text("O3", ptx, "another"), None);
        }
        // A copy that goes away.
        let (stamp, _) = Stamp::current(&cache("O3"), &second, "key").expect("the text is there");
        stamp.store_for(&cache("O3"), &second);
        assert_eq!(text("O3", &folder.path().join("third.ptx"), "key").as_deref(), Some("ret;\n"));
        assert_eq!(text("O2", &second, "key"), None);
        std::fs::write(&first, "exit;\n").expect("a file");
        assert_eq!(text("O3", &second, "key"), None);
    }
}
