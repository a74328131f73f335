//! The link stage: the bitcode of all crates becomes one PTX text.
//!
//! All crates become one module ([`gather`]), of which each kernel with what it needs is a part that is optimised and
//! printed by itself ([`print`]): on all cores, and not again while nothing in the part changes. The parts' texts become
//! one ([`merge`]). One step, one file; this one runs the steps in order. Everything happens in the compiler's own LLVM,
//! in this process.

mod atomics;
mod clash;
mod contract;
mod description;
mod fast_math;
mod floats;
mod grid_constant;
mod inputs;
mod lines;
mod memory;
mod merge;
mod parts;
mod products;
mod redirect;
mod reflect;
mod symbols;
mod version;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rumba_ptx::foot;

use crate::arch::NvvmArch;
use crate::error::BuildError;
use crate::llvm::{self, Context, Llvm, LlvmError, Module, OptLevel};
use crate::stamp::Cache;

pub(crate) use lines::Sources;
use parts::Whole;
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
    /// The texts of parts from earlier builds.
    pub(crate) cache: Cache,
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
    /// A thread that panics says so to the host.
    pub(crate) panic_messages: bool,
    pub(crate) level: OptLevel,
}

impl Codegen {
    /// With fast mathematics.
    fn fast(self) -> Self {
        Self {
            contract: true,
            ftz: true,
            fast_div: true,
            fast_sqrt: true,
            fast_math: true,
            ..self
        }
    }
}

/// What the link stage makes.
pub(crate) struct Output {
    pub(crate) ptx: String,
    pub(crate) kernels: Vec<String>,
    pub(crate) arch: NvvmArch,
    /// Optimised LLVM assembly, if it was asked for.
    pub(crate) ir: Option<String>,
}

impl Output {
    /// With what the kernels say of themselves, and a hash over all of it.
    fn sealed(mut self, whole: &Whole) -> Self {
        let descriptions = whole.descriptions.iter();
        let descriptions = descriptions.map(|(kernel, text)| (kernel.as_str(), text.as_str()));
        foot::seal(&mut self.ptx, descriptions);
        self
    }
}

/// Failures inside a thread that runs LLVM.
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

impl Failure {
    fn at(self, arch: NvvmArch) -> BuildError {
        match self {
            Self::Llvm(error) => BuildError::llvm(arch)(error),
            Self::Build(error) => error,
        }
    }
}

/// Links, optimises and prints, for the oldest version of PTX that the code allows.
pub(crate) fn run(input: Input) -> Result<Output, BuildError> {
    let floors = version::ladder(input.arch);
    let oldest = floors.first().copied().unwrap_or(Floor::OLDEST);
    let llvm = llvm::load(&input.llvm).map_err(|source| BuildError::LoadLlvm {
        path: input.llvm.clone(),
        source,
    })?;
    let input = Arc::new(input);
    let whole = {
        let input = Arc::clone(&input);
        llvm::guarded(move || gather(llvm, &input, oldest))
    };
    let whole = Arc::new(whole.map_err(|failure| failure.at(oldest.arch))?);
    let mut refused = None;
    let mut need = Need::default();
    for floor in floors {
        if !floor.allows(need) {
            continue;
        }
        match print_all(llvm, &input, &whole, floor) {
            Ok(output) => {
                // What inline assembly needs shows only in the text. An architecture that was asked
                // for stays; then only the version rises.
                need = version::need(&output.ptx);
                if input.arch.is_some() {
                    need.capability = 0;
                }
                need = need.max(whole.directives);
                if floor.allows(need) {
                    return Ok(output.sealed(&whole));
                }
            }
            // An instruction that this version lacks: a newer one may have it.
            Err(Failure::Llvm(error)) if error.0.starts_with("Cannot select") => {
                refused.get_or_insert((floor.arch, error));
            }
            Err(failure) => return Err(failure.at(floor.arch)),
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

/// Everything of all crates that kernels or the host may need, with our meaning of it, in one module.
fn gather(llvm: &'static Llvm, input: &Input, floor: Floor) -> Result<Whole, Failure> {
    let files = inputs::read_all(input)?;
    let context = Context::new(llvm);
    let machine = floor.machine(&context, input.codegen.level)?;
    let module = Module::new(&context, c"kernels");
    machine.adopt(&module);

    inputs::link_all(&module, &machine, &files)?;
    redirect::panics(&module, input.codegen.panic_messages);
    redirect::allocator(&module)?;
    redirect::remainders(&module);
    redirect::halves(&module, &machine)?;
    let directives = contract::apply(&module);
    grid_constant::apply(&module);
    let descriptions = description::take(&module);
    memory::place(&module);
    let symbols = symbols::internalise(&module);
    machine.run(&module, c"globaldce")?;
    Ok(Whole {
        bitcode: module.to_bitcode(),
        symbols,
        directives,
        descriptions,
    })
}

/// Optimises and prints all parts.
fn print_all(llvm: &'static Llvm, input: &Arc<Input>, whole: &Arc<Whole>, floor: Floor) -> Result<Output, Failure> {
    let printed: Vec<Result<Printed, Failure>> = whole
        .parts()
        .into_par_iter()
        .map(|kernel| {
            let (input, whole) = (Arc::clone(input), Arc::clone(whole));
            llvm::guarded(move || print(llvm, &input, &whole, kernel.as_deref(), floor))
        })
        .collect();
    let printed = all(printed)?;
    let texts: Vec<&str> = printed.iter().map(|part| part.ptx.as_str()).collect();
    let ptx = merge::texts(&texts, &whole.symbols.statics);
    input.cache.keep(printed.iter().map(|part| part.key.as_str()));
    let ir = if input.keep_ir {
        let input = Arc::clone(input);
        let parts: Vec<Vec<u8>> = printed.into_iter().filter_map(|part| part.bitcode).collect();
        Some(llvm::guarded(move || join(llvm, &input, &parts, floor))?)
    } else {
        None
    };
    Ok(Output {
        ptx,
        kernels: whole.symbols.kernels.clone(),
        arch: floor.arch,
        ir,
    })
}

/// A part as PTX.
struct Printed {
    ptx: String,
    /// By which it is found again.
    key: String,
    /// Optimised, if LLVM's assembly is wanted.
    bitcode: Option<Vec<u8>>,
}

/// Optimises and prints the part of one kernel, or what the host may look up if no kernel is named.
fn print(
    llvm: &'static Llvm,
    input: &Input,
    whole: &Whole,
    kernel: Option<&str>,
    floor: Floor,
) -> Result<Printed, Failure> {
    let context = Context::new(llvm);
    let machine = floor.machine(&context, input.codegen.level)?;
    let module = parts::extract(&context, &machine, whole, kernel)?;
    let key = input.cache.key(&module.to_bitcode(), &floor);
    if !input.keep_ir
        && let Some(ptx) = input.cache.find(&key)
    {
        return Ok(Printed {
            ptx,
            key,
            bitcode: None,
        });
    }
    let mut codegen = input.codegen;
    if fast_math::is_asked(&module) || codegen.fast_math {
        codegen = codegen.fast();
        fast_math::approximate(&module, &machine)?;
    }
    reflect::answer(&module, floor.arch, &codegen);
    floats::prepare(&module, &codegen);
    products::inline(&module);
    machine.optimise(&module)?;
    redirect::raise(&module, &machine)?;
    atomics::lower(&module, &machine)?;
    symbols::check(&module)?;
    symbols::rename(&module);
    if input.positions {
        lines::attribute(&module, &input.sources);
    } else {
        module.strip_positions();
    }
    module.verify()?;
    let bitcode = input.keep_ir.then(|| module.to_bitcode());
    let ptx = lines::clean(&machine.emit(module)?, &input.sources);
    input.cache.store(&key, &ptx);
    Ok(Printed { ptx, key, bitcode })
}

/// All parts as one text of LLVM's assembly.
fn join(llvm: &'static Llvm, input: &Input, parts: &[Vec<u8>], floor: Floor) -> Result<String, Failure> {
    let context = Context::new(llvm);
    let machine = floor.machine(&context, input.codegen.level)?;
    let module = Module::new(&context, c"kernels");
    machine.adopt(&module);
    for part in parts {
        parts::add(&module, Module::read(&context, part)?)?;
    }
    Ok(module.to_text())
}

/// All parts, or why not: every function that is missing anywhere, or else the first failure.
fn all(parts: Vec<Result<Printed, Failure>>) -> Result<Vec<Printed>, Failure> {
    let mut missing = Vec::new();
    let mut printed = Vec::new();
    for part in parts {
        match part {
            Ok(part) => printed.push(part),
            Err(Failure::Build(BuildError::Undefined { symbols })) => missing.extend(symbols),
            Err(failure) => return Err(failure),
        }
    }
    if missing.is_empty() {
        return Ok(printed);
    }
    missing.sort();
    missing.dedup();
    Err(BuildError::Undefined { symbols: missing }.into())
}

/// Reads a file, naming it in the error.
fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    std::fs::read(path).map_err(|source| BuildError::Io {
        path: path.to_owned(),
        source,
    })
}
