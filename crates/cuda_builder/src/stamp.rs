//! Remembers what a PTX file was made of, so that the link stage is skipped when nothing changed.
//!
//! Cargo decides whether a crate is compiled again; this decides only whether the same libraries need
//! to be linked and optimised again. A stamp that is missing or unreadable costs time, nothing else.

use std::env;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What is known about a finished PTX file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stamp {
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
    /// A key that already depends on this program, which contains the link stage.
    pub(crate) fn new() -> Self {
        let mut key = Self(Sha256::new());
        if let Ok(program) = env::current_exe() {
            key.file(&program);
        }
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
    pub(crate) fn new(key: String, text: &str, kernels: &[String], arch: String) -> Self {
        Self {
            key,
            text: hash(text),
            kernels: kernels.to_vec(),
            arch,
        }
    }

    /// The stamp of a PTX file and its text, if both are what they would be now.
    pub(crate) fn current(folder: &Path, ptx: &Path, key: &str) -> Option<(Self, String)> {
        let stamp: Self = serde_json::from_slice(&std::fs::read(file(folder, ptx)).ok()?).ok()?;
        let text = std::fs::read_to_string(ptx).ok()?;
        (stamp.key == key && stamp.text == hash(&text)).then_some((stamp, text))
    }

    /// Keeps the stamp. Failing to is no reason to fail the build.
    pub(crate) fn store(&self, folder: &Path, ptx: &Path) {
        let file = file(folder, ptx);
        if let (Some(parent), Ok(json)) = (file.parent(), serde_json::to_vec(self)) {
            let _ = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&file, json));
        }
    }
}

fn file(folder: &Path, ptx: &Path) -> PathBuf {
    let ptx = std::path::absolute(ptx).unwrap_or_else(|_| ptx.to_owned());
    let name = hash(&ptx.display().to_string());
    folder.join("stamps").join(name).with_extension("json")
}
