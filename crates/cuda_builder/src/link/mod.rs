//! The link stage: the bitcode of all crates becomes one PTX text.
//!
//! All crates become one module ([`gather`]), of which each kernel with what it needs is a part that is optimised and
//! printed by itself ([`print`]): on all cores, once for each architecture that the kernel states, and not again while nothing
//! in the part changes. The parts' texts become one for each architecture ([`texts`], [`merge`]). One step, one file; this one
//! runs the steps in order. Everything happens in the compiler's own LLVM, in this process.

mod atomics;
mod clash;
mod contract;
mod cores;
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
mod stated;
mod symbols;
mod texts;
mod version;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arch::NvvmArch;
use crate::error::BuildError;
use crate::llvm::{self, Context, Llvm, LlvmError, Module, OptLevel};
use crate::stamp::Cache;

pub(crate) use lines::Sources;
use parts::Whole;
use texts::Group;
use version::{Floor, Need};

/// The input of the link stage. Owned, because the work moves to a separate thread.
pub(crate) struct Input {
    /// The compiler's LLVM.
    pub(crate) llvm: PathBuf,
    /// The libraries of the build: kernel crate, other crates, standard library.
    pub(crate) libraries: Vec<LibraryFile>,
    /// NVIDIA's device library (libdevice), if found.
    pub(crate) libdevice: Option<PathBuf>,
    /// The architecture asked for, of kernels that state none; otherwise the oldest.
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
    /// Whether the library is part of the standard library, of which only needed symbols are linked.
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
        Self { contract: true, ftz: true, fast_div: true, fast_sqrt: true, fast_math: true, ..self }
    }
}

/// The result of the link stage.
pub(crate) struct Output {
    /// The text, or the texts of several architectures ([`rumba_ptx::set`]).
    pub(crate) ptx: String,
    pub(crate) kernels: Vec<String>,
    /// The architecture of the oldest text.
    pub(crate) arch: NvvmArch,
    /// Optimised LLVM assembly, if it was asked for.
    pub(crate) ir: Option<String>,
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

/// Links, optimises and prints, for the architectures that kernels state, and of all others for the oldest version of PTX that
/// their code allows.
pub(crate) fn run(input: Input) -> Result<Output, BuildError> {
    let llvm = llvm::load(&input.llvm).map_err(|source| BuildError::LoadLlvm { path: input.llvm.clone(), source })?;
    let input = Arc::new(input);
    let oldest = version::ladder(input.arch).first().copied().unwrap_or(Floor::OLDEST);
    let whole = {
        let input = Arc::clone(&input);
        llvm.guarded(move || gather(llvm, &input, oldest))
    };
    let whole = Arc::new(whole.map_err(|failure| failure.at(oldest.arch))?);
    let printer = Printer { llvm, input, whole };
    let groups = texts::groups(&printer.whole)
        .into_iter()
        .map(|(stated, parts)| printer.group(stated, &parts))
        .collect::<Result<Vec<_>, _>>()?;
    let keys = groups.iter().flat_map(|group| &group.printed);
    printer.input.cache.keep(keys.map(|part| part.key.as_str()));
    let (ptx, arch) = texts::compose(&groups, &printer.whole);
    Ok(Output {
        ptx,
        kernels: printer.whole.symbols.kernels.clone(),
        arch,
        ir: printer.input.keep_ir.then(|| printer.assembly(groups)).transpose()?,
    })
}

/// The input of printing, shared by all parts.
struct Printer {
    llvm: &'static Llvm,
    input: Arc<Input>,
    whole: Arc<Whole>,
}

impl Printer {
    /// Parts for the architecture that their kernels state, or else for that asked for, or else for the oldest that they allow;
    /// and in the oldest version of PTX.
    fn group(&self, stated: Option<NvvmArch>, parts: &[Option<String>]) -> Result<Group, BuildError> {
        let mut refused = None;
        let mut need = Need::default();
        let mut neediest: Option<(String, Need)> = None;
        for floor in version::ladder(stated.or(self.input.arch)) {
            if !floor.allows(need) {
                continue;
            }
            match self.print_all(stated, parts, floor) {
                Ok(printed) => return Ok(Group { floor, printed }),
                // An instruction that this version lacks: a newer one may have it.
                Err(Unprinted::Failed(Failure::Llvm(error))) if error.0.starts_with("Cannot select") => {
                    refused.get_or_insert((floor.arch, error));
                }
                Err(Unprinted::Failed(failure)) => return Err(failure.at(floor.arch)),
                Err(Unprinted::Needs(kernel, own)) => {
                    if let Some(stated) = stated.filter(|stated| !own.is_met_by(*stated)) {
                        return Err(BuildError::BelowFloor { kernel, stated, arch: own.arch() });
                    }
                    need = need.max(own);
                    if neediest.as_ref().is_none_or(|(_, known)| *known < own) {
                        neediest = Some((kernel, own));
                    }
                }
            }
        }
        Err(match (refused, neediest) {
            (Some((arch, error)), _) => BuildError::llvm(arch)(error),
            (None, neediest) => {
                let (kernel, own) = neediest.unwrap_or_default();
                BuildError::TooNew {
                    kernel,
                    version: format!("{}.{}", own.version / 10, own.version % 10),
                    arch: own.arch(),
                }
            }
        })
    }

    /// Optimises and prints parts. The first part that needs more than the floor has ends the work on all others, since a
    /// higher floor prints all parts again.
    fn print_all(
        &self,
        stated: Option<NvvmArch>,
        parts: &[Option<String>],
        floor: Floor,
    ) -> Result<Vec<Printed>, Unprinted> {
        let printed: Vec<Result<Printed, Failure>> = cores::map(parts, |kernel| {
            let (llvm, input, whole) = (self.llvm, Arc::clone(&self.input), Arc::clone(&self.whole));
            let name = kernel.clone();
            let printed = llvm.guarded(move || print(llvm, &input, &whole, name, floor));
            match (kernel, printed) {
                (Some(kernel), Ok(part)) => match self.need(stated, kernel, &part.ptx) {
                    own if floor.allows(own) => Ok(Ok(part)),
                    own => Err(Unprinted::Needs(kernel.clone(), own)),
                },
                (_, Err(Failure::Llvm(error))) => Err(Unprinted::Failed(error.into())),
                (_, printed) => Ok(printed),
            }
        })?;
        all(printed).map_err(Unprinted::Failed)
    }

    /// The requirements of a kernel's text. Only the printed text shows which version of PTX inline assembly needs.
    fn need(&self, stated: Option<NvvmArch>, kernel: &str, ptx: &str) -> Need {
        let directives = self.whole.directives.get(kernel).copied().unwrap_or_default();
        let mut own = version::need(ptx);
        if stated.is_none() && self.input.arch.is_some() {
            // An architecture that was asked for stays; then only the version rises.
            own = Need::new(own.version, 0);
        }
        own.max(directives)
    }

    /// LLVM's assembly of all parts, for one architecture behind the other.
    fn assembly(&self, groups: Vec<Group>) -> Result<String, BuildError> {
        let (mut text, count) = (String::new(), groups.len());
        for Group { floor, printed } in groups {
            let parts: Vec<Vec<u8>> = printed.into_iter().filter_map(|part| part.bitcode).collect();
            let (llvm, input) = (self.llvm, Arc::clone(&self.input));
            let joined = llvm.guarded(move || join(llvm, &input, &parts, floor));
            if count > 1 {
                text.push_str(&format!("; for {}\n", floor.arch));
            }
            text.push_str(&joined.map_err(|failure| failure.at(floor.arch))?);
        }
        Ok(text)
    }
}

/// Why there are no texts of parts at a floor.
enum Unprinted {
    /// A kernel needs a higher floor.
    Needs(String, Need),
    Failed(Failure),
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
    let stated = stated::take(&module)?;
    memory::place(&module);
    let symbols = symbols::internalise(&module);
    machine.run(&module, c"globaldce")?;
    let estimates = version::estimates(&module, &symbols.kernels);
    Ok(Whole { bitcode: module.to_bitcode(), symbols, directives, estimates, descriptions, stated })
}

/// A part as PTX.
struct Printed {
    /// The kernel of the part; None for the part with symbols that the host may look up.
    kernel: Option<String>,
    ptx: String,
    /// The key of the text in the cache.
    key: String,
    /// Optimised, if LLVM's assembly is wanted.
    bitcode: Option<Vec<u8>>,
}

/// Optimises and prints the part of one kernel, or what the host may look up if no kernel is named.
fn print(
    llvm: &'static Llvm,
    input: &Input,
    whole: &Whole,
    kernel: Option<String>,
    floor: Floor,
) -> Result<Printed, Failure> {
    let context = Context::new(llvm);
    let machine = floor.machine(&context, input.codegen.level)?;
    let module = parts::extract(&context, &machine, whole, kernel.as_deref())?;
    let key = input.cache.key(&module.to_bitcode(), &floor);
    if !input.keep_ir
        && let Some(ptx) = input.cache.find(&key)
    {
        return Ok(Printed { kernel, ptx, key, bitcode: None });
    }
    let mut codegen = input.codegen;
    if fast_math::is_asked(&module) || codegen.fast_math {
        codegen = codegen.fast();
        fast_math::approximate(&module, &machine)?;
    }
    reflect::answer(&module, floor.arch, &codegen);
    machine.fold(&module)?;
    floats::prepare(&module, &codegen);
    products::inline(&module, &machine)?;
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
    Ok(Printed { kernel, ptx, key, bitcode })
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
    std::fs::read(path).map_err(|source| BuildError::Io { path: path.to_owned(), source })
}
