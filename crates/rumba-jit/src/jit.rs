//! A compiler that works in the background and keeps the code it has made.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rumba_llvm::{Level, Llvm, LlvmError, Pipeline};

use crate::cache::{Cache, CacheError, Key};
use crate::code::{Code, LinkError};
use crate::{exit, object, processor};

/// How a [`Jit`] works.
#[derive(Debug)]
pub struct Settings {
    /// Looks for the `libLLVM` to compile with, when LLVM is first needed. Without a library, nothing is compiled.
    pub library: fn() -> Option<PathBuf>,
    /// The cache of objects, if objects are to be kept.
    pub cache: Option<Cache>,
    /// The build of the program that writes the texts: objects of another build are not found.
    pub build: String,
    /// The passes that texts are optimised by.
    pub pipeline: Pipeline<'static>,
    /// The effort of LLVM's code generator behind the passes.
    pub level: Level,
    /// The log, which gets a line for each step of the compiler.
    pub log: fn(fmt::Arguments<'_>),
}

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum JitError {
    /// The machine has no LLVM.
    #[error("there is no libLLVM on this machine")]
    NoLlvm,
    /// The library cannot be used.
    #[error("{} cannot be used: {reason}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// LLVM refused the text.
    #[error("LLVM: {0}")]
    Llvm(#[from] LlvmError),
    /// The object could not be used.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// LLVM would take too long: its time grows faster than the text.
    #[error("its code in LLVM's assembly has {} KiB, and at most {} KiB are compiled", bytes / 1024, MOST_TEXT / 1024)]
    Long {
        /// Bytes of the text.
        bytes: usize,
    },
    /// Too many kernels are waiting already.
    #[error("{QUEUE} kernels are waiting to be compiled")]
    Full,
    /// The system refuses a thread.
    #[error("no thread could be started: {0}")]
    Thread(String),
    /// The process ends.
    #[error("the process ends")]
    Ending,
}

/// A text to compile.
#[derive(Debug, Clone)]
pub struct Source {
    /// A name for messages.
    pub name: String,
    /// What the code is found by: texts with the same key have code that does the same.
    pub key: Vec<u8>,
    /// What is to be found with the code. A source with another record is compiled again, and replaces this one.
    pub record: Vec<u8>,
    /// The text, in LLVM's assembly.
    pub text: String,
}

impl Source {
    /// A text whose code is found by the text itself.
    pub fn of_text(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), key: text.as_bytes().to_vec(), record: Vec::new(), text: text.to_owned() }
    }
}

/// What a source was compiled to.
#[derive(Debug)]
pub struct Found {
    /// The record of the source.
    pub record: Vec<u8>,
    /// Its code.
    pub code: Arc<Code>,
}

/// Called once with the result of compiling a text, from any thread.
pub type Done = Box<dyn FnOnce(Result<Arc<Code>, JitError>) + Send>;

/// Bytes of the longest text that is compiled, in a few seconds.
const MOST_TEXT: usize = 3200 << 10;

/// Units that may wait.
const QUEUE: usize = 256;

/// How long a unit waits in any case: a process that only tries a kernel has then ended, and never starts LLVM.
const DELAY: Duration = Duration::from_millis(10);

/// How long a unit waits in addition for each byte of its text, which is about LLVM's time for the byte: a process that
/// ends while LLVM compiles has then run for as long already, and has lost half of its time at most.
const DELAY_PER_BYTE: Duration = Duration::from_micros(1);

/// The niceness of the thread in the background: it has a third of what a thread that runs kernels has of a core.
const NICENESS: i32 = 5;

/// A compiler of texts in LLVM's assembly. Making one is cheap: it loads nothing and starts no thread.
#[derive(Debug)]
pub struct Jit {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    library: OnceLock<Option<PathBuf>>,
    /// What all keys have in common.
    identity: OnceLock<Key>,
    /// Code that is in use.
    known: Mutex<HashMap<Key, Known>>,
    /// Set when a problem with the cache was logged, which happens once.
    told: OnceLock<()>,
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    units: VecDeque<Waiting>,
    has_thread: bool,
    stop: bool,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("units", &self.units.len())
            .field("has_thread", &self.has_thread)
            .finish_non_exhaustive()
    }
}

/// A weak reference to code, and the record of the code.
#[derive(Debug)]
struct Known {
    code: Weak<Code>,
    record: Vec<u8>,
}

/// A text that waits to be compiled.
struct Waiting {
    source: Source,
    done: Done,
    begin: Instant,
}

impl Jit {
    /// A compiler with these settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                settings,
                library: OnceLock::new(),
                identity: OnceLock::new(),
                known: Mutex::default(),
                told: OnceLock::new(),
                queue: Mutex::default(),
                filled: Condvar::new(),
            }),
        }
    }

    /// What was compiled under a key, in this process or another. It loads no LLVM.
    pub fn find(&self, name: &str, key: &[u8]) -> Option<Found> {
        self.shared.find(name, &self.shared.key(key))
    }

    /// Finds or compiles a text in the calling thread.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn compile_now(&self, source: &Source) -> Result<Arc<Code>, JitError> {
        exit::watch();
        self.shared.make(source)
    }

    /// Finds or compiles a text in the background, and hands over what comes of it.
    pub fn compile(&self, source: Source, done: Done) {
        if let Err((done, error)) = self.enqueue(source, done) {
            done(Err(error));
        }
    }

    fn enqueue(&self, source: Source, done: Done) -> Result<(), (Done, JitError)> {
        let mut queue = self.shared.queue();
        if queue.units.len() >= QUEUE {
            return Err((done, JitError::Full));
        }
        if !queue.has_thread {
            exit::watch();
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("rumba-jit".to_owned()).spawn(move || shared.work());
            if let Err(error) = thread {
                return Err((done, JitError::Thread(error.to_string())));
            }
            queue.has_thread = true;
        }
        let begin = Instant::now() + DELAY + DELAY_PER_BYTE * u32::try_from(source.text.len()).unwrap_or(u32::MAX);
        queue.units.push_back(Waiting { source, done, begin });
        self.shared.filled.notify_one();
        Ok(())
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        self.shared.queue().stop = true;
        self.shared.filled.notify_one();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread in the background.
    fn work(&self) {
        // SAFETY: changes the priority of this thread only; if the system refuses, the priority stays unchanged.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
        loop {
            let Waiting { source, done, begin } = {
                let mut queue = self.queue();
                loop {
                    if queue.stop {
                        return;
                    }
                    match queue.units.pop_front() {
                        Some(unit) => break unit,
                        None => queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner),
                    }
                }
            };
            std::thread::sleep(begin.saturating_duration_since(Instant::now()));
            // The end of the process also waits for `done`.
            let work = exit::begin();
            done(if work.is_some() { self.make(&source) } else { Err(JitError::Ending) });
        }
    }

    fn library(&self) -> Option<&Path> {
        self.library.get_or_init(self.settings.library).as_deref()
    }

    fn key(&self, key: &[u8]) -> Key {
        let identity = self.identity.get_or_init(|| {
            let settings = &self.settings;
            let processor: Vec<u8> = processor::identity().iter().flat_map(|word| word.to_le_bytes()).collect();
            Key::of(&[
                settings.build.as_bytes(),
                format!("{:?} {:?}", settings.pipeline, settings.level).as_bytes(),
                self.library().map(identity).unwrap_or_default().as_bytes(),
                &processor,
            ])
        });
        Key::of(&[identity.to_string().as_bytes(), key])
    }

    fn find(&self, name: &str, key: &Key) -> Option<Found> {
        if let Some(Known { code, record }) = self.known().get(key)
            && let Some(code) = code.upgrade()
        {
            return Some(Found { record: record.clone(), code });
        }
        let kept = self.settings.cache.as_ref()?.find(key).unwrap_or_else(|error| {
            self.tell(&error);
            None
        })?;
        let (length, rest) = kept.split_first_chunk()?;
        let (record, object) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
        match Code::load(object) {
            Ok(code) => {
                self.say(format_args!("kernel `{name}`: compiled code from the cache"));
                Some(Found { record: record.to_vec(), code: self.keep(key, record, code) })
            }
            Err(error) => {
                self.say(format_args!("kernel `{name}`: the cache has code that cannot be used: {error}"));
                None
            }
        }
    }

    /// Finds or compiles.
    fn make(&self, source: &Source) -> Result<Arc<Code>, JitError> {
        let Source { name, text, .. } = source;
        if text.len() > MOST_TEXT {
            let error = JitError::Long { bytes: text.len() };
            self.say(format_args!("kernel `{name}`: interpreted: {error}"));
            return Err(error);
        }
        let key = self.key(&source.key);
        if let Some(found) = self.find(name, &key)
            && found.record == source.record
        {
            return Ok(found.code);
        }
        let outcome = self.compile(source, &key);
        if let Err(error) = &outcome
            && !matches!(error, JitError::Ending)
        {
            self.say(format_args!("kernel `{name}`: interpreted: {error}"));
        }
        outcome
    }

    fn compile(&self, source: &Source, key: &Key) -> Result<Arc<Code>, JitError> {
        let Source { name, record, text, .. } = source;
        let begun = Instant::now();
        let object = {
            let _work = exit::begin().ok_or(JitError::Ending)?;
            let llvm = self.llvm()?;
            // The end of the process may not have waited for the loader, and destructors may have run on its data.
            if exit::is_ending() {
                return Err(JitError::Ending);
            }
            object(llvm, text, &self.settings.pipeline, self.settings.level)?
        };
        let code = Code::load(&object)?;
        let (time, bytes) = (milliseconds(begun.elapsed()), object.len().div_ceil(1024));
        self.say(format_args!("kernel `{name}`: compiled in {time} ms, {bytes} KiB"));
        let length = (record.len() as u64).to_le_bytes();
        if let Some(cache) = &self.settings.cache
            && let Err(error) = cache.store(key, &[&length, &record[..], &object].concat())
        {
            self.tell(&error);
        }
        Ok(self.keep(key, record, code))
    }

    /// Loads LLVM, or says why not.
    fn llvm(&self) -> Result<&'static Llvm, JitError> {
        let path = self.library().ok_or(JitError::NoLlvm)?;
        rumba_llvm::load_isolated(path)
            .map_err(|error| JitError::Load { path: path.to_owned(), reason: error.to_string() })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers code until its last user drops it. If two threads compile the same text, both use the first thread's
    /// code.
    fn keep(&self, key: &Key, record: &[u8], code: Code) -> Arc<Code> {
        let mut known = self.known();
        if let Some(same) = known.get(key).filter(|known| known.record == record)
            && let Some(code) = same.code.upgrade()
        {
            return code;
        }
        known.retain(|_, known| known.code.strong_count() > 0);
        let code = Arc::new(code);
        known.insert(*key, Known { code: Arc::downgrade(&code), record: record.to_vec() });
        code
    }

    fn say(&self, message: fmt::Arguments<'_>) {
        (self.settings.log)(message);
    }

    fn tell(&self, error: &CacheError) {
        self.told.get_or_init(|| self.say(format_args!("cache: {error}")));
    }
}

/// The identity of a library, without loading it: its file's metadata, which an update changes.
fn identity(library: &Path) -> String {
    let path = library.canonicalize().unwrap_or_else(|_| library.to_owned());
    let metadata = path.metadata().ok();
    let bytes = metadata.as_ref().map(std::fs::Metadata::len);
    let modified = metadata.and_then(|metadata| metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{:?} {bytes:?} {modified:?}", path.file_name())
}

/// `0.4`, `23`.
fn milliseconds(time: Duration) -> String {
    let time = time.as_secs_f64() * 1e3;
    if time < 10.0 { format!("{time:.1}") } else { format!("{time:.0}") }
}
