//! `RUMBA_ENGINE`: what runs kernels. Here the machine's texts become code; what the texts say is the machine's business.

use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use rumba_interface::RELEASE;
use rumba_interface::environment::{cache_folder, is_privileged, library_from_environment};
use rumba_jit::{Cache, Code, Found, Jit, JitError, Source};
use rumba_llvm::find;
use rumba_vm::Engine;
use rumba_vm::engine::{Compiler, Done, ENTRY_POINT, Fingerprint, NoText, OPERATIONS_PER_BYTE, Recalled, Unit};

use crate::error::Error;
use crate::log::{self, Level};
use crate::soft::machine::setting;
use crate::table::SOURCES;

/// The variables.
pub(crate) const ENGINE: &str = "RUMBA_ENGINE";
const LIBRARY: &str = "RUMBA_LLVM_LIBRARY";
const LEVEL: &str = "RUMBA_CODEGEN_LEVEL";

/// The values of `RUMBA_ENGINE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Kernels are interpreted until they are compiled, in the background.
    Auto,
    /// Kernels are compiled before they run first.
    Compiled,
    /// Kernels are interpreted.
    Interpreter,
    /// Kernels are interpreted and run compiled, and both have to do the same.
    Compare,
}

impl Choice {
    /// The list of values, for messages.
    pub(crate) const VALUES: &str = "`auto` (interpreted until compiled in the background), `compiled` (before the first launch), `interpreter`, or \
         `compare` (each launch on both)";

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" | "" => Some(Self::Auto),
            "compiled" => Some(Self::Compiled),
            "interpreter" => Some(Self::Interpreter),
            "compare" => Some(Self::Compare),
            _ => None,
        }
    }

    /// The engine.
    pub(crate) fn engine(self) -> Result<Engine, Error> {
        let level = setting(LEVEL, "a level of LLVM's code generator, 0 to 3", rumba_llvm::Level::parse)?;
        let (waits, name) = match self {
            Self::Interpreter => return Ok(Engine::interpreter()),
            Self::Auto => (false, "auto"),
            Self::Compiled => (true, "compiled"),
            Self::Compare => (true, "compare"),
        };
        if waits && !library().is_some_and(|library| library.is_file()) {
            return Err(Error::Device(format!(
                "{ENGINE}={name} asks for LLVM, and there is none: install a Rust toolchain with rustup, or name a libLLVM \
                 of version {} or newer in {LIBRARY}",
                find::OLDEST
            )));
        }
        let jit = Jit::new(rumba_jit::Settings {
            library,
            cache: cache_folder().map(|folder| Cache::new(folder.join("kernels"))),
            build: format!("{RELEASE} {SOURCES}"),
            pipeline: rumba_jit::WARP_PASSES,
            level: level.unwrap_or(rumba_llvm::Level::O3),
            log: |message| log::say(Level::Errors, message),
        });
        let native = Arc::new(Native { jit, waits, compares: self == Self::Compare });
        Ok(match self {
            Self::Compare => Engine::compared(native),
            Self::Auto | Self::Compiled | Self::Interpreter => Engine::compiled(native),
        })
    }
}

/// The `libLLVM` that the environment names, or else one that a search finds. None for a program with rights that its
/// user lacks.
fn library() -> Option<PathBuf> {
    if is_privileged() {
        return None;
    }
    library_from_environment(LIBRARY).map(PathBuf::from).or_else(find::library)
}

/// What `RUMBA_ENGINE=compare` says of a kernel whose code in the cache was made from another text.
const NOT_THE_TEXT: &str = "the cache has code of another text under the fingerprint of this one: please report this; \
    `RUMBA_CACHE=off` leaves the cache out";

/// Makes code of the machine's texts.
#[derive(Debug)]
struct Native {
    jit: Jit,
    /// Whether a launch waits for its code.
    waits: bool,
    /// Whether each text is written, and its record compared with the record in the cache.
    compares: bool,
}

impl Native {
    /// Says that a kernel is interpreted that was to be compiled before its first launch. A comparison of engines counts such kernels.
    fn say_interpreted(&self, kernel: &str, reason: &dyn std::error::Error) {
        if self.waits && !self.compares {
            log::write(format_args!("kernel `{kernel}` is interpreted, although {ENGINE}=compiled: {reason}"));
        }
    }
}

// SAFETY: the code is LLVM's for the processor that runs this, of the text as it is, or was when it came into the cache: the
// fingerprint, the cache's key and the checksum say so, and only the user can write there. Its owner keeps it mapped.
unsafe impl Compiler for Native {
    fn recall(&self, kernel: &str, fingerprint: &Fingerprint) -> Option<Recalled> {
        if self.compares {
            return None;
        }
        let Found { record, code } = self.jit.find(kernel, &fingerprint.0)?;
        Some(Recalled { record, code: entry(Ok(code)).ok()? })
    }

    fn threshold(&self, bytes: u64) -> u64 {
        if self.waits { 0 } else { OPERATIONS_PER_BYTE * bytes }
    }

    fn leave_out(&self, kernel: &str, reason: NoText) {
        self.say_interpreted(kernel, &reason);
    }

    fn compile(&self, unit: Unit, done: Done) {
        let Unit { kernel, fingerprint, record, text } = unit;
        if self.compares && self.jit.find(&kernel, &fingerprint.0).is_some_and(|found| found.record != record) {
            log::write(format_args!("kernel `{kernel}`: {NOT_THE_TEXT}"));
        }
        let source = Source { name: kernel, key: fingerprint.0.to_vec(), record, text };
        if self.waits {
            let code = self.jit.compile_now(&source);
            if let Err(error) = &code
                && !matches!(error, JitError::Ending)
            {
                self.say_interpreted(&source.name, error);
            }
            return done(entry(code));
        }
        let done = move |code| {
            if matches!(code, Err(JitError::NoLlvm)) {
                LACKS_LLVM.store(true, Ordering::Relaxed);
            }
            done(entry(code));
        };
        self.jit.compile(source, Box::new(done));
    }
}

/// Whether a kernel was to be compiled, and there was no LLVM.
static LACKS_LLVM: AtomicBool = AtomicBool::new(false);

/// A launch that is interpreted is slow if it takes this long.
const SLOW: Duration = Duration::from_secs(1);

/// Says, once, that kernels are interpreted for lack of LLVM, if a launch took long.
pub(crate) fn say_if_slow(elapsed: Duration) {
    static SAID: Once = Once::new();
    if elapsed >= SLOW && LACKS_LLVM.load(Ordering::Relaxed) {
        SAID.call_once(|| {
            log::write(format_args!(
                "kernels are interpreted, and would run several times as fast if they were compiled: there is no libLLVM of version \
                 {} or newer on this machine. A Rust toolchain has one (rustup), and {LIBRARY} names another; {ENGINE}=interpreter \
                 silences this line",
                find::OLDEST
            ));
        });
    }
}

/// The function that the machine calls.
fn entry(code: Result<Arc<Code>, JitError>) -> Result<rumba_vm::engine::Code, String> {
    let code = code.map_err(|error| error.to_string())?;
    let entry: NonNull<c_void> =
        code.symbol(ENTRY_POINT).ok_or_else(|| format!("the code has no function `{ENTRY_POINT}`"))?;
    Ok(rumba_vm::engine::Code { entry, owner: code })
}

#[cfg(test)]
mod tests {
    use super::Choice;

    #[test]
    fn engines_are_named() {
        assert_eq!(Choice::parse("compiled"), Some(Choice::Compiled));
        assert_eq!(Choice::parse("compare"), Some(Choice::Compare));
        assert_eq!(Choice::parse(""), Some(Choice::Auto));
        assert_eq!(Choice::parse("Compiled"), None);
        assert_eq!(Choice::parse("jit"), None);
    }
}
