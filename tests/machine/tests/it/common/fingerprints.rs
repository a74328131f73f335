//! The texts of fingerprints, in all processes of this build of the tests: where a fingerprint is the same, so is the text.
//!
//! A test runs in a process of its own, and addresses differ from process to process. So a fingerprint that leaves out something of
//! which the text is made fails a test when the tests have run once.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;

use rumba_interface::environment::cache_folder;
use rumba_vm::engine::Unit;

/// The bytes of a fingerprint and of the hash of its record.
const ENTRY: usize = 32 + 8;

/// The hashes of records, which have the hashes of texts, and the file to which all processes append.
struct Known {
    records: HashMap<[u8; 32], [u8; 8]>,
    file: Option<File>,
}

/// Panics if the unit's fingerprint is that of another text or record.
pub(crate) fn check(unit: &Unit) {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    let Unit { kernel, fingerprint, record, text } = unit;
    let known = KNOWN.get_or_init(|| Mutex::new(Known::open()));
    let Known { records, file } = &mut *known.lock().unwrap_or_else(PoisonError::into_inner);
    let mut hash = DefaultHasher::new();
    record.hash(&mut hash);
    let record = hash.finish().to_le_bytes();
    match (records.insert(fingerprint.0, record), file) {
        (None, Some(file)) => {
            file.write_all(&[&fingerprint.0[..], &record].concat()).expect("the file can be written to");
        }
        (None, None) => {}
        (Some(before), _) => {
            assert!(before == record, "kernel `{kernel}`: the fingerprint is that of another text, too\n{text}");
        }
    }
}

impl Known {
    fn open() -> Self {
        let Some(folder) = cache_folder().map(|folder| folder.join("tests/fingerprints")) else {
            return Self { records: HashMap::new(), file: None };
        };
        std::fs::create_dir_all(&folder).expect("the user's folder can be written to");
        let program = std::env::current_exe().and_then(|program| program.metadata()).expect("the program is there");
        let built = program.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let path = folder.join(format!("{}-{}", program.len(), built.unwrap_or_default().as_nanos()));
        if !path.exists() {
            // Those of other builds.
            for other in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                // Another process may have done it.
                let _ = std::fs::remove_file(other.path());
            }
        }
        let kept = std::fs::read(&path).unwrap_or_default();
        let entries = kept.as_chunks::<ENTRY>().0.iter();
        let records = entries.filter_map(|entry| Some((*entry.first_chunk()?, *entry.last_chunk()?))).collect();
        Self { records, file: OpenOptions::new().create(true).append(true).open(path).ok() }
    }
}
