//! Texts that were loaded before without an error, and without a kernel that the machine does not execute.
//!
//! They decide when kernels are lowered, and nothing else: an error that a kernel has nevertheless is reported when the kernel is
//! wanted. So a hash stands for a text, and a file of hashes need not be trusted.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::load::error::Source;

/// A longer file is begun anew: each process reads it.
const MOST_BYTES: u64 = 64 << 10;
/// Files of other builds that were not written for so long are removed.
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[derive(Debug, Default)]
struct Passed {
    texts: FxHashSet<u64>,
    /// Where other processes find them: 8 bytes for each text.
    file: Option<PathBuf>,
}

/// The texts that have passed in this process, and those of the file.
fn passed() -> MutexGuard<'static, Passed> {
    static PASSED: LazyLock<Mutex<Passed>> = LazyLock::new(Mutex::default);
    PASSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers in a file which texts have been loaded without errors, also for later processes: kernels of such a text are lowered and
/// assembled when they are first asked for, those of other texts when the text is loaded. The file is for one build of the machine.
/// A file that cannot be read or written is left alone.
pub fn remember_texts(file: PathBuf) {
    let mut passed = passed();
    if let Ok(bytes) = read(&file) {
        passed.texts.extend(bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes"))));
    }
    passed.file = Some(file);
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    if !file.exists()
        && let Some(folder) = file.parent()
    {
        tidy(folder)?;
    }
    if file.metadata()?.len() > MOST_BYTES {
        std::fs::remove_file(file)?;
    }
    std::fs::read(file)
}

fn tidy(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.metadata()?.modified()?.elapsed().is_ok_and(|age| age > MONTH) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether sources of these texts have passed.
pub(crate) fn has_passed(sources: &[Source<'_>]) -> bool {
    passed().texts.contains(&key(sources))
}

/// Remembers that these texts pass.
pub(crate) fn add(sources: &[Source<'_>]) {
    let key = key(sources);
    let mut passed = passed();
    if passed.texts.insert(key)
        && let Some(file) = &passed.file
    {
        // Without the file, the next process lowers all kernels again.
        let _ = append(file, key);
    }
}

/// Adds a text to the file, in one piece.
fn append(file: &Path, key: u64) -> io::Result<()> {
    let open = || OpenOptions::new().create(true).append(true).open(file);
    let mut file: File = open().or_else(|error| match file.parent() {
        Some(folder) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            open()
        }
        _ => Err(error),
    })?;
    file.write_all(&key.to_le_bytes())
}

fn key(sources: &[Source<'_>]) -> u64 {
    let texts: Vec<&str> = sources.iter().map(|source| source.ptx).collect();
    BuildHasherDefault::<DefaultHasher>::default().hash_one(texts)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::{MONTH, Source, add, has_passed, key, passed, remember_texts};

    #[test]
    fn a_file_has_the_texts_for_the_next_process() {
        let folder = std::env::temp_dir().join(format!("rumba-passed-{}", std::process::id()));
        let file = folder.join("texts").join("build");
        let [known, new] = ["// known before", "// new"].map(|ptx| [Source { name: "test", ptx }]);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder of this test");
        std::fs::write(&file, key(&known).to_le_bytes()).expect("a file of this test");
        remember_texts(file.clone());
        assert!(has_passed(&known) && !has_passed(&new));
        // The folder may go meanwhile, but not while another test of this process writes there.
        let writers = passed();
        std::fs::remove_dir_all(&folder).expect("it is there");
        drop(writers);
        add(&new);
        let held = std::fs::read(&file).expect("it was written again");
        assert!(held.chunks_exact(8).any(|text| text == key(&new).to_le_bytes()));
        // The file of another build that is not used any more.
        let [old, recent] = ["old", "recent"].map(|name| folder.join("texts").join(name));
        for (file, age) in [(&old, 2 * MONTH), (&recent, MONTH / 2)] {
            let written = File::create(file).and_then(|file| file.set_modified(SystemTime::now() - age));
            written.expect("a file of this test");
        }
        remember_texts(folder.join("texts").join("next build"));
        assert!(!old.exists() && recent.exists() && file.exists());
        passed().file = None;
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
