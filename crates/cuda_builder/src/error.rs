//! Everything that can stop a build.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::arch::{NvvmArch, UnknownArch};
use crate::inspect::InspectError;
use crate::llvm::LlvmError;
use crate::toolchain::{Lack, NotFound};

/// Why no PTX was made.
///
/// `Debug` prints the sentence that `Display` prints, here and for the other errors of this crate, so that a build script
/// may return the error from `main` or unwrap it and the user still reads plain text.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No compiler can build kernels.
    #[error(transparent)]
    Toolchain(#[from] NotFound),

    /// The path given to the builder is not a crate.
    #[error("there is no Cargo.toml in {}: give build_kernels or CudaBuilder::new the directory of the kernel crate", directory.display())]
    NoCrate {
        /// The directory, as far as it could be resolved.
        directory: PathBuf,
    },

    /// The crate's `Cargo.toml` states something that is not understood.
    #[error("[package.metadata.cuda_builder] in {}: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },

    /// `RUMBA_KERNELS` has a value without a meaning.
    #[error("RUMBA_KERNELS={value} is neither `build` nor `skip`")]
    Variable {
        /// The value.
        value: String,
    },

    /// A file has no kernels that can be built.
    #[error("the kernels of {} cannot be built: {reason}", file.display())]
    OneFile {
        /// The file.
        file: PathBuf,
        /// The problem.
        reason: String,
    },

    /// The crate has no library target.
    #[error("the crate in {} has no library: kernels belong in src/lib.rs and the modules it names", directory.display())]
    NoLibrary {
        /// The crate's directory.
        directory: PathBuf,
    },

    /// The compiler reported errors, which have been printed.
    #[error("the kernels in {} do not compile: {} reported above", directory.display(), count(*errors, "error"))]
    Compile {
        /// The crate's directory.
        directory: PathBuf,
        /// How many errors there were.
        errors: usize,
        /// The compiler's messages as they were printed.
        diagnostics: String,
    },

    /// Cargo failed before or beside compiling, and said why on standard error.
    #[error("cargo could not build the kernels in {} ({status}): its message is above", directory.display())]
    Cargo {
        /// The crate's directory.
        directory: PathBuf,
        /// How cargo ended.
        status: ExitStatus,
    },

    /// A program could not be started.
    #[error("{} could not be run: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// An rlib does not hold what rustc puts there.
    #[error("{} is not a library of LLVM bitcode: {reason}; delete it and build again", path.display())]
    Rlib {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },

    /// The compiler's LLVM could not be loaded.
    #[error("LLVM could not be loaded from {}: {source}; install the toolchain again, or point RUMBA_KERNEL_RUSTC at another rustc", path.display())]
    LoadLlvm {
        /// The library.
        path: PathBuf,
        /// The loader's error.
        source: rumba_llvm::LoadError,
    },

    /// LLVM refused the code.
    #[error("LLVM could not turn the kernels into PTX for {arch}: {message}")]
    Llvm {
        /// The virtual architecture asked for.
        arch: NvvmArch,
        /// LLVM's words.
        message: String,
    },

    /// A kernel needs more than an architecture that is chosen for it has.
    #[error(
        "the kernel `{kernel}` (its inline assembly, or its cluster) needs PTX {version} and {arch}: state that, \
         `#[kernel(arch = \"{arch}\")]`, or ask for it for all kernels with CudaBuilder::arch"
    )]
    TooNew {
        /// The kernel.
        kernel: String,
        /// The PTX version.
        version: String,
        /// The oldest architecture that can run the kernel.
        arch: String,
    },

    /// A kernel needs more than an architecture that it states has.
    #[error(
        "the kernel `{kernel}` states `{stated}`, and what it is compiled to there (its inline assembly, or its cluster) needs \
         {arch}: put that into `if cfg_arch!(\"{arch}\") {{ .. }}`, or leave `{stated}` out"
    )]
    BelowFloor {
        /// The kernel.
        kernel: String,
        /// The architecture that it states.
        stated: NvvmArch,
        /// The oldest architecture that can run the kernel.
        arch: String,
    },

    /// A kernel states an unknown architecture.
    #[error("the kernel `{kernel}` states an architecture that there is not: {source}")]
    Arch {
        /// The kernel.
        kernel: String,
        /// The unknown name, with the names of the known architectures.
        source: UnknownArch,
    },

    /// A variable or a kernel has the name of a function, which calls of the function would reach.
    #[error(
        "`{symbol}` is a {what} of {defined} and a function of {function}: calls of the function would reach the {what}; \
         give the {what} another name"
    )]
    Clash {
        /// The name.
        symbol: String,
        /// The kind of the other item of this name: `variable` or `kernel`.
        what: &'static str,
        /// The crate that defines it.
        defined: String,
        /// The crate that has or calls the function.
        function: String,
    },

    /// Two crates of the build have a kernel of one name.
    #[error(
        "the crates {} and {} have a kernel `{kernel}` each, and kernels are found by their names: give one of them another name, \
         `#[kernel(name = \"{}_{kernel}\")]`",
        crates[0], crates[1], crates[1]
    )]
    KernelTwice {
        /// The name.
        kernel: String,
        /// The crates.
        crates: [String; 2],
    },

    /// Device code calls functions that nothing defines.
    #[error("the kernels call {}, which no crate of the build defines and the device does not provide", symbols.join(", "))]
    Undefined {
        /// The functions' names.
        symbols: Vec<String>,
    },
}

/// All public errors print by `Debug` what they print by `Display`, which tells of their sources.
macro_rules! debug_as_display {
    ($($error:ty),* $(,)?) => {$(
        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

debug_as_display!(BuildError, InspectError, NotFound, Lack, UnknownArch);

impl BuildError {
    /// Gives LLVM's error its place.
    pub(crate) fn llvm(arch: NvvmArch) -> impl Fn(LlvmError) -> Self {
        move |LlvmError(message)| Self::Llvm { arch, message }
    }
}

/// `1 error`, `2 errors`.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
