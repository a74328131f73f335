//! The engine that runs kernels, and the interface of compilers that make native code.
//!
//! The machine writes the code that a warp runs as text in LLVM's assembly language. A [`Compiler`], which is not part
//! of this crate, decides how text becomes code, where code is kept, and whether it is compiled in the background.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// The name of the function that a [`Unit`] defines.
pub const ENTRY_POINT: &str = "rumba_warp";

/// Operations of a kernel, each for a whole warp, that take as long in the interpreter as a byte of its text in LLVM, about a
/// microsecond. A kernel that is compiled after so many operations for each byte of its text takes at most twice as long as if it had
/// been known how much it is used (Karlin et al., "Competitive snoopy caching", 1988), and one that is used little is not compiled.
pub const OPERATIONS_PER_BYTE: u64 = 64;

/// Bytes of a line of a processor's cache.
pub(crate) const LINE: usize = 64;

/// A hash of everything that the text of a [`Unit`] is made from. In processes of one build of the machine, units with the same
/// fingerprint have the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// One function to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The kernel, for messages.
    pub kernel: String,
    /// The fingerprint of the text.
    pub fingerprint: Fingerprint,
    /// What the machine needs to know of the text.
    pub record: Vec<u8>,
    /// A module in LLVM's assembly language. It defines [`ENTRY_POINT`], refers to intrinsics only, names neither target nor
    /// data layout, and holds no address of this process.
    pub text: String,
}

/// What a compiler has made of a unit.
#[derive(Debug, Clone)]
pub struct Recalled {
    /// The record of the unit.
    pub record: Vec<u8>,
    /// Its code.
    pub code: Code,
}

/// Native code.
#[derive(Clone)]
pub struct Code {
    /// The function [`ENTRY_POINT`].
    pub entry: NonNull<c_void>,
    /// Keeps the code where it is.
    pub owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: code is not written, and the owner may be shared.
unsafe impl Send for Code {}

// SAFETY: as above.
unsafe impl Sync for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// Why the machine writes no text of a kernel, which is then interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoText {
    /// LLVM would take too long.
    #[error("its code would be too long")]
    Long,
    /// Threads wait for others by reading memory in a loop, under [`Check::Race`](rumba_checks::Check::Race).
    #[error("its threads wait for others in a loop, which the check of races follows in the interpreter alone")]
    Polls,
}

/// Receives the code, or a sentence that says why there is no code.
pub type Done = Box<dyn FnOnce(Result<Code, String>) + Send>;

/// Makes native code.
///
/// # Safety
/// The code does what the text says, on this processor, as long as its owner lives.
pub unsafe trait Compiler: fmt::Debug + Send + Sync {
    /// Code that the compiler already has of a kernel's unit, for instance in a cache. The machine writes the unit's text only if the
    /// compiler has no code.
    fn recall(&self, _kernel: &str, _fingerprint: &Fingerprint) -> Option<Recalled> {
        None
    }

    /// The tier-up threshold: the number of operations, each for a whole warp, that are interpreted before a kernel is compiled,
    /// given the estimated length of its text in bytes.
    fn threshold(&self, _bytes: u64) -> u64 {
        0
    }

    /// A kernel has no text, and is interpreted.
    fn leave_out(&self, _kernel: &str, _reason: NoText) {}

    /// Compiles a unit, now or in the background, and hands the result to `done`. Until then, and if the result is an
    /// error, the kernel is interpreted.
    fn compile(&self, unit: Unit, done: Done);
}

/// The engine that runs kernels: the interpreter alone, native code as soon as it is compiled, or both.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    compiler: Option<Arc<dyn Compiler>>,
    compares: bool,
}

impl Engine {
    /// The interpreter alone.
    pub fn interpreter() -> Self {
        Self::default()
    }

    /// Native code, made by a compiler.
    pub fn compiled(compiler: Arc<dyn Compiler>) -> Self {
        Self { compiler: Some(compiler), compares: false }
    }

    /// Both engines: each launch runs interpreted and then as native code, from the same memory. A difference is a
    /// fault of the launch, of the kind [`FaultKind::EngineDifference`](crate::FaultKind::EngineDifference).
    pub fn compared(compiler: Arc<dyn Compiler>) -> Self {
        Self { compiler: Some(compiler), compares: true }
    }

    /// Whether each launch runs on both engines.
    pub fn compares(&self) -> bool {
        self.compares
    }

    /// The compiler, unless the interpreter runs alone.
    pub fn compiler(&self) -> Option<&Arc<dyn Compiler>> {
        self.compiler.as_ref()
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        let same_compiler = match (&self.compiler, &other.compiler) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, Some(_)) | (Some(_), None) => false,
        };
        same_compiler && self.compares == other.compares
    }
}

impl Eq for Engine {}
