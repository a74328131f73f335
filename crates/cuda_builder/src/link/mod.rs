//! The link stage: the bitcode of all crates becomes one PTX text.
//!
//! One step, one file; this one reads the inputs and runs the steps in order. Everything happens in
//! the compiler's own LLVM, in this process.

mod floats;
mod inputs;
mod lines;
mod memory;
mod redirect;
mod symbols;

use std::path::{Path, PathBuf};

use crate::arch::NvvmArch;
use crate::error::BuildError;
use crate::llvm::{self, Context, LlvmError, Machine, Module, OptLevel};

pub(crate) use lines::Roots;

/// What the link stage is given. Owned, because the work moves to a thread of its own.
pub(crate) struct Input {
    /// The compiler's LLVM.
    pub(crate) llvm: PathBuf,
    /// The libraries of the build: kernel crate, other crates, standard library.
    pub(crate) libraries: Vec<LibraryFile>,
    /// NVIDIA's device library, where there is one.
    pub(crate) libdevice: Option<PathBuf>,
    /// The architecture asked for; otherwise the oldest.
    pub(crate) arch: Option<NvvmArch>,
    /// Arithmetic and optimisation.
    pub(crate) codegen: Codegen,
    /// Directories to leave out of file names.
    pub(crate) roots: Roots,
    /// Whether LLVM's assembly is wanted too.
    pub(crate) keep_ir: bool,
}

/// An rlib.
pub(crate) struct LibraryFile {
    pub(crate) path: PathBuf,
    /// Whether it is part of the standard library, of which only what is needed is linked.
    pub(crate) standard: bool,
}

/// How code is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codegen {
    /// Fuse products with sums.
    pub(crate) contract: bool,
    /// Flush denormal `f32` to zero.
    pub(crate) ftz: bool,
    /// Approximate `f32` division.
    pub(crate) fast_div: bool,
    /// Approximate `f32` square root.
    pub(crate) fast_sqrt: bool,
    pub(crate) level: OptLevel,
}

/// What the link stage makes.
pub(crate) struct Output {
    pub(crate) ptx: String,
    pub(crate) kernels: Vec<String>,
    pub(crate) arch: NvvmArch,
    /// Optimised LLVM assembly, if it was asked for.
    pub(crate) ir: Option<String>,
}

/// Failures inside the thread that runs LLVM.
enum Failure {
    Llvm(LlvmError),
    Build(BuildError),
}

impl From<LlvmError> for Failure {
    fn from(error: LlvmError) -> Self {
        Self::Llvm(error)
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

/// Links, optimises and prints.
pub(crate) fn run(input: Input) -> Result<Output, BuildError> {
    let arch = input.arch.unwrap_or(NvvmArch::Compute70);
    llvm::guarded(move || link(&input)).map_err(|failure| match failure {
        Failure::Llvm(error) => BuildError::llvm(arch)(error),
        Failure::Build(error) => error,
    })
}

fn link(input: &Input) -> Result<Output, Failure> {
    let llvm = llvm::load(&input.llvm).map_err(|source| BuildError::LoadLlvm {
        path: input.llvm.clone(),
        source,
    })?;
    let context = Context::new(llvm);
    let floor = input.arch.unwrap_or(NvvmArch::Compute70);
    let machine = Machine::new(&context, &floor.to_string(), "", input.codegen.level)?;
    let module = Module::new(&context, c"kernels");
    machine.adopt(&module);

    inputs::link_all(&module, &machine, input)?;
    redirect::panics(&module);
    memory::place(&module);
    let kernels = symbols::internalise(&module);
    machine.run(&module, c"globaldce")?;
    floats::prepare(&module, &input.codegen);
    machine.optimise(&module)?;
    symbols::check(&module)?;
    symbols::rename(&module);
    lines::attribute(&module, &input.roots);
    module.verify()?;
    let ir = input.keep_ir.then(|| module.to_text());
    let ptx = machine.emit(module)?;
    let ptx = lines::clean(&ptx, &input.roots);
    Ok(Output {
        ptx,
        kernels,
        arch: floor,
        ir,
    })
}

/// Reads a file, naming it in the error.
fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    std::fs::read(path).map_err(|source| BuildError::Io {
        path: path.to_owned(),
        source,
    })
}
