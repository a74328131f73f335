//! The link stage: the bitcode of all crates becomes one PTX text.
//!
//! One step, one file; this one reads the inputs and runs the steps in order. Everything happens in
//! the compiler's own LLVM, in this process.

mod atomics;
mod contract;
mod fast_math;
mod floats;
mod inputs;
mod lines;
mod memory;
mod redirect;
mod reflect;
mod symbols;
mod version;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arch::NvvmArch;
use crate::error::BuildError;
use crate::llvm::{self, Context, LlvmError, Machine, Module, OptLevel};

pub(crate) use lines::Sources;
use version::{Floor, Need};

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
    /// Whether the text says where it comes from.
    pub(crate) positions: bool,
    /// How source files are named.
    pub(crate) sources: Sources,
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
    /// All of these, and approximate functions, in every kernel.
    pub(crate) fast_math: bool,
    pub(crate) level: OptLevel,
}

/// What the link stage makes.
pub(crate) struct Output {
    pub(crate) ptx: String,
    pub(crate) kernels: Vec<String>,
    pub(crate) arch: NvvmArch,
    /// Optimised LLVM assembly, if it was asked for.
    pub(crate) ir: Option<String>,
    /// What the kernels' directives need, which an older floor leaves out.
    directives: Need,
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

/// Links, optimises and prints, for the oldest version of PTX that the code allows.
pub(crate) fn run(input: Input) -> Result<Output, BuildError> {
    let input = Arc::new(input);
    let mut refused = None;
    let mut need = Need::default();
    for floor in version::ladder(input.arch) {
        if !floor.allows(need) {
            continue;
        }
        let attempt = Arc::clone(&input);
        match llvm::guarded(move || link(&attempt, floor)) {
            Ok(output) => {
                // What inline assembly needs shows only in the text. An architecture that was asked
                // for stays; then only the version rises.
                need = version::need(&output.ptx);
                if input.arch.is_some() {
                    need.capability = 0;
                }
                need = need.max(output.directives);
                if floor.allows(need) {
                    return Ok(output);
                }
            }
            // An instruction that this version lacks: a newer one may have it.
            Err(Failure::Llvm(error)) if error.0.starts_with("Cannot select") => {
                refused.get_or_insert((floor.arch, error));
            }
            Err(Failure::Llvm(error)) => return Err(BuildError::llvm(floor.arch)(error)),
            Err(Failure::Build(error)) => return Err(error),
        }
    }
    Err(match refused {
        Some((arch, error)) => BuildError::llvm(arch)(error),
        None => BuildError::TooNew {
            version: format!("{}.{}", need.version / 10, need.version % 10),
            capability: need.capability,
        },
    })
}

fn link(input: &Input, floor: Floor) -> Result<Output, Failure> {
    let llvm = llvm::load(&input.llvm).map_err(|source| BuildError::LoadLlvm {
        path: input.llvm.clone(),
        source,
    })?;
    let context = Context::new(llvm);
    let machine = Machine::new(
        &context,
        &floor.arch.to_string(),
        &floor.features(),
        input.codegen.level,
    )?;
    let module = Module::new(&context, c"kernels");
    machine.adopt(&module);

    inputs::link_all(&module, &machine, input)?;
    redirect::panics(&module);
    redirect::allocator(&module)?;
    redirect::remainders(&module);
    let directives = contract::apply(&module);
    redirect::halves(&module, &machine)?;
    memory::place(&module);
    fast_math::separate(&module, &machine, input.codegen.fast_math)?;
    let kernels = symbols::internalise(&module);
    machine.run(&module, c"globaldce")?;
    reflect::answer(&module, floor.arch, &input.codegen);
    floats::prepare(&module, &input.codegen);
    machine.optimise(&module)?;
    atomics::lower(&module, &machine)?;
    symbols::check(&module)?;
    symbols::rename(&module);
    if input.positions {
        lines::attribute(&module, &input.sources);
    } else {
        module.strip_positions();
    }
    module.verify()?;
    let ir = input.keep_ir.then(|| module.to_text());
    let ptx = lines::clean(&machine.emit(module)?, &input.sources);
    Ok(Output {
        ptx,
        kernels,
        arch: floor.arch,
        ir,
        directives,
    })
}

/// Reads a file, naming it in the error.
fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    std::fs::read(path).map_err(|source| BuildError::Io {
        path: path.to_owned(),
        source,
    })
}
