//! Objects on disk, by a hash of everything they were made from.
//!
//! The folder belongs to the user alone; a file in it is used if the file is the user's, is complete, and holds the key
//! that is looked up. Any other file counts as missing: a cache only saves time.

use std::fmt;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

/// The total size of all files, in bytes, beyond which the oldest files are deleted.
const LIMIT: u64 = 256 << 20;

/// The number of new files after which the total size is computed again.
const INTERVAL: u64 = 64;

/// The age of a file beyond which a use sets its time to now.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The age beyond which unfinished files are removed.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The first bytes of each file, with the version of the format.
const MAGIC: [u8; 8] = *b"RUMBAJ\0\x01";

/// Magic, length, key, hash of what follows.
const HEADER: usize = 8 + 8 + 32 + 32;

/// The largest size of a file, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// A hash of everything an object was made from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of parts; the boundaries between the parts count, too.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a folder holds no cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Other users could write to the folder.
    #[error("{} is not used as a cache of compiled code: {reason}", folder.display())]
    NotPrivate {
        /// The folder.
        folder: PathBuf,
        /// The owner of the folder, or the other users who may write to it.
        reason: &'static str,
    },
    /// The system refuses an access.
    #[error("{}: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A folder of objects. Several processes may use one at once.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    stored: AtomicU64,
}

impl Cache {
    /// A cache in a folder, which is created when the first object is stored.
    pub fn new(folder: PathBuf) -> Self {
        Self::with_limit(folder, LIMIT)
    }

    fn with_limit(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit, stored: AtomicU64::new(0) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of files in the cache, and of their bytes.
    ///
    /// # Errors
    /// If the folder is not private, or cannot be read. A missing folder counts as empty.
    pub fn size(&self) -> Result<(usize, u64), CacheError> {
        if !self.is_usable()? {
            return Ok((0, 0));
        }
        let files = self.files().map_err(|source| self.error(&self.folder, source))?;
        Ok((files.len(), files.iter().map(|file| file.bytes).sum()))
    }

    /// The object of a key, if its file exists and is complete.
    ///
    /// # Errors
    /// If the folder is not private.
    pub fn find(&self, key: &Key) -> Result<Option<Vec<u8>>, CacheError> {
        if !self.is_usable()? {
            return Ok(None);
        }
        Ok(self.read(&self.path(key), key).ok().flatten())
    }

    /// Keeps an object.
    ///
    /// # Errors
    /// If the folder is not private, or nothing can be written there.
    pub fn store(&self, key: &Key, object: &[u8]) -> Result<(), CacheError> {
        if !self.is_usable()? {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
            made.map_err(|source| self.error(&self.folder, source))?;
            self.is_usable()?;
        }
        let path = self.path(key);
        self.write(&path, key, object).map_err(|source| self.error(&path, source))?;
        if self.stored.fetch_add(1, Ordering::Relaxed).is_multiple_of(INTERVAL) {
            // Files that cannot be removed stay.
            let _ = self.evict();
        }
        Ok(())
    }

    fn error(&self, path: &Path, source: io::Error) -> CacheError {
        CacheError::Io { path: path.to_owned(), source }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}.code"))
    }

    /// Whether the folder exists, and only the user may access it.
    fn is_usable(&self) -> Result<bool, CacheError> {
        let metadata = match self.folder.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(self.error(&self.folder, source)),
        };
        let refuse = |reason| Err(CacheError::NotPrivate { folder: self.folder.clone(), reason });
        if !metadata.is_dir() {
            return refuse("it is no folder");
        }
        if metadata.uid() != user() {
            return refuse("it belongs to another user");
        }
        if metadata.mode() & 0o077 != 0 {
            return refuse("others may read or write there (`chmod 700` makes it private)");
        }
        Ok(true)
    }

    /// Reads a file, if it is one of ours.
    fn read(&self, path: &Path, key: &Key) -> io::Result<Option<Vec<u8>>> {
        let options = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut file = OpenOptions::new().read(true).custom_flags(options).open(path)?;
        let metadata = file.metadata()?;
        let is_ours = metadata.is_file() && metadata.uid() == user() && metadata.mode() & 0o022 == 0;
        if !is_ours || metadata.len() > MOST_BYTES {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        file.read_to_end(&mut bytes)?;
        if metadata.modified()?.elapsed().is_ok_and(|age| age > DAY) {
            // Its age only decides what goes first.
            let _ = file.set_modified(SystemTime::now());
        }
        Ok(open(bytes, key))
    }

    /// Writes a file as a whole: who reads it sees the old one or the new one.
    fn write(&self, path: &Path, key: &Key, object: &[u8]) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.folder.join(format!("{key}.{}.{number}.unfinished", std::process::id()));
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
            file.write_all(&header(key, object))?;
            file.write_all(object)?;
            std::fs::rename(&unfinished, path)
        };
        write().inspect_err(|_| {
            let _ = std::fs::remove_file(&unfinished);
        })
    }

    /// Removes the oldest files until three quarters of the limit are left, and unfinished files.
    fn evict(&self) -> io::Result<()> {
        let mut files = self.files()?;
        let is_old = |file: &Entry| file.modified.elapsed().is_ok_and(|age| age > HOUR);
        for file in files.iter().filter(|file| file.is_unfinished && is_old(file)) {
            std::fs::remove_file(&file.path)?;
        }
        files.retain(|file| !file.is_unfinished);
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        if bytes <= self.limit {
            return Ok(());
        }
        files.sort_by_key(|file| file.modified);
        for file in files {
            if bytes <= self.limit / 4 * 3 {
                break;
            }
            bytes -= file.bytes;
            match std::fs::remove_file(&file.path) {
                // Another process did.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// The files of this cache in the folder. Other files in the folder are left alone.
    fn files(&self) -> io::Result<Vec<Entry>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            let is_unfinished = extension == Some("unfinished");
            if !is_unfinished && extension != Some("code") {
                continue;
            }
            // It may be gone by now.
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            all.push(Entry { path, bytes: metadata.len(), modified: metadata.modified()?, is_unfinished });
        }
        Ok(all)
    }
}

/// A file of the cache.
struct Entry {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
    is_unfinished: bool,
}

fn user() -> u32 {
    // SAFETY: a question that always has an answer.
    unsafe { libc::geteuid() }
}

fn header(key: &Key, object: &[u8]) -> Vec<u8> {
    let length = (object.len() as u64).to_le_bytes();
    let hash: [u8; 32] = Sha256::digest(object).into();
    [&MAGIC[..], &length, &key.0, &hash].concat()
}

/// The object in a file's bytes, if they are whole and of this key.
fn open(mut bytes: Vec<u8>, key: &Key) -> Option<Vec<u8>> {
    let object = bytes.get(HEADER..)?;
    if bytes[..HEADER] != header(key, object) {
        return None;
    }
    bytes.drain(..HEADER);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Cache, CacheError, HEADER, Key};
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, SystemTime};

    fn cache(folder: &tempfile::TempDir) -> Cache {
        Cache::new(folder.path().join("cache"))
    }

    #[test]
    fn what_is_stored_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (key, other) = (Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
        assert_ne!(key, other);
        assert_eq!(cache(&folder).find(&key).unwrap(), None);
        cache(&folder).store(&key, b"object").unwrap();
        assert_eq!(cache(&folder).find(&key).unwrap().as_deref(), Some(&b"object"[..]));
        assert_eq!(cache(&folder).find(&other).unwrap(), None);
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(cache(&folder).folder()), 0o700);
        assert_eq!(mode(&cache(&folder).path(&key)), 0o600);
        assert_eq!(cache(&folder).size().unwrap(), (1, (HEADER + 6) as u64));
    }

    #[test]
    fn damaged_and_foreign_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, key) = (cache(&folder), Key::of(&[b"key"]));
        cache.store(&key, b"object").unwrap();
        let path = cache.path(&key);
        let whole = fs::read(&path).unwrap();
        let foreign = Key::of(&[b"foreign"]);
        // A file of another key under this name.
        cache.store(&foreign, b"object").unwrap();
        let mut contents = vec![fs::read(cache.path(&foreign)).unwrap(), Vec::new(), whole[..HEADER].to_vec()];
        // Each byte changed, each length.
        for index in 0..whole.len() {
            let mut changed = whole.clone();
            changed[index] ^= 1;
            contents.push(changed);
            contents.push(whole[..index].to_vec());
        }
        contents.push([&whole[..], b"x"].concat());
        for bytes in contents {
            fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.find(&key).unwrap(), None, "{bytes:?}");
        }
        fs::write(&path, &whole).unwrap();
        assert!(cache.find(&key).unwrap().is_some());
        // The file is writable for other users; it is a link; it is a folder, or a pipe, which would block.
        fs::set_permissions(&path, Permissions::from_mode(0o622)).unwrap();
        assert_eq!(cache.find(&key).unwrap(), None);
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert_eq!(cache.find(&key).unwrap(), None);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(cache.find(&key).unwrap(), None);
        fs::remove_dir(&path).unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the name is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(cache.find(&key).unwrap(), None);
        fs::remove_file(&path).unwrap();
        // Storing replaces an invalid file.
        fs::write(&path, b"wrong").unwrap();
        cache.store(&key, b"object").unwrap();
        assert!(cache.find(&key).unwrap().is_some());
    }

    #[test]
    fn a_folder_that_others_may_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, key) = (cache(&folder), Key::of(&[b"key"]));
        cache.store(&key, b"object").unwrap();
        for mode in [0o755, 0o770, 0o777, 0o702] {
            fs::set_permissions(cache.folder(), Permissions::from_mode(mode)).unwrap();
            assert!(matches!(cache.find(&key), Err(CacheError::NotPrivate { .. })), "{mode:o}");
            assert!(matches!(cache.store(&key, b"other"), Err(CacheError::NotPrivate { .. })), "{mode:o}");
        }
        fs::set_permissions(cache.folder(), Permissions::from_mode(0o700)).unwrap();
        assert!(cache.find(&key).unwrap().is_some());
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        assert!(matches!(Cache::new(file).find(&key), Err(CacheError::NotPrivate { .. })));
        let below = folder.path().join("file/below");
        assert!(matches!(Cache::new(below).store(&key, b"object"), Err(CacheError::Io { .. })));
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::with_limit(folder.path().join("cache"), 1000);
        let key = |number: u8| Key::of(&[&[number]]);
        for number in 0..8 {
            cache.store(&key(number), &[0; 200]).unwrap();
            let file = File::open(cache.path(&key(number))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(1000 - u64::from(number))).unwrap();
        }
        let stale = cache.folder().join("x.1.1.unfinished");
        fs::write(&stale, b"").unwrap();
        File::open(&stale).unwrap().set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
        let foreign = cache.folder().join("notes.txt");
        fs::write(&foreign, [0; 5000]).unwrap();
        cache.evict().unwrap();
        let found: Vec<u8> = (0..8).filter(|number| cache.find(&key(*number)).unwrap().is_some()).collect();
        assert_eq!(found, [6, 7]);
        assert!(!stale.exists() && foreign.exists());
    }

    #[test]
    fn use_keeps_a_file_young() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, key) = (cache(&folder), Key::of(&[b"key"]));
        cache.store(&key, b"object").unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(10 * 86400);
        File::open(cache.path(&key)).unwrap().set_modified(long_ago).unwrap();
        cache.find(&key).unwrap().unwrap();
        let age = cache.path(&key).metadata().unwrap().modified().unwrap().elapsed().unwrap();
        assert!(age < Duration::from_secs(60), "{age:?}");
    }

    #[test]
    fn several_may_write_and_read_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let object = vec![7; 100_000];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (cache, key) = (cache(&folder), Key::of(&[b"key"]));
                    for _ in 0..50 {
                        cache.store(&key, &object).unwrap();
                        assert!(cache.find(&key).unwrap().as_deref() == Some(&object[..]));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(cache(&folder).folder()).unwrap().count(), 1);
    }
}
