//! The NVPTX target machine: optimise a module, print it as PTX.

use std::ffi::CStr;

use rumba_llvm::{BackEnd, Level, Output, Pipeline, Target};

use super::{Context, LlvmError, Module};

/// The triple of every module.
const TRIPLE: &CStr = c"nvptx64-nvidia-cuda";

/// How much LLVM optimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OptLevel {
    /// Not at all: for looking at what the compiler made. Shared memory is then addressed as generic
    /// memory.
    O0,
    /// A little.
    O1,
    /// Most of what there is.
    O2,
    /// Everything.
    #[default]
    O3,
}

impl OptLevel {
    /// The level of code generation.
    fn of_code(self) -> Level {
        match self {
            Self::O0 => Level::O0,
            Self::O1 => Level::O1,
            Self::O2 => Level::O2,
            Self::O3 => Level::O3,
        }
    }

    /// The pass pipeline.
    fn pipeline(self) -> &'static CStr {
        match self {
            Self::O0 => c"default<O0>",
            Self::O1 => c"default<O1>",
            Self::O2 => c"default<O2>",
            Self::O3 => c"default<O3>",
        }
    }
}

/// Passes before the machine's own pipeline, which need no machine.
///
/// Rust code branches on an `Option` right after it has made one: in `for` loops, and wherever a
/// thread asks for its own element. Jump threading joins the two branches, and only then are loops
/// counted, unrolled and free of bounds checks. For a machine whose threads diverge, LLVM leaves that
/// pass out, so it runs here. Barriers are safe: no pass duplicates a convergent call.
const THREAD_OPTIONS: &CStr = c"cgscc(inline,function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,\
    instcombine<no-verify-fixpoint>,jump-threading,correlated-propagation,simplifycfg,\
    instcombine<no-verify-fixpoint>))";

/// A code generator for one virtual architecture and PTX version.
pub(crate) struct Machine<'c> {
    inner: rumba_llvm::Machine<'c>,
    level: OptLevel,
}

impl<'c> Machine<'c> {
    /// Creates a target machine for a CPU named `sm_NN` and a list of LLVM's features, such as `+ptx63`.
    pub(crate) fn new(context: &'c Context, cpu: &str, features: &str, level: OptLevel) -> Result<Self, LlvmError> {
        let target = Target {
            back_end: BackEnd::Nvptx,
            triple: TRIPLE,
            cpu,
            features,
            level: level.of_code(),
            position_independent: false,
        };
        let inner = rumba_llvm::Machine::new(context, &target)?.terse();
        Ok(Self { inner, level })
    }

    /// Gives the module this machine's triple and data layout.
    pub(crate) fn adopt(&self, module: &Module<'c>) {
        self.inner.adopt(module);
    }

    /// Runs the optimisation pipeline of this machine's level.
    pub(crate) fn optimise(&self, module: &Module<'c>) -> Result<(), LlvmError> {
        if self.level != OptLevel::O0 {
            module.run_passes(&Pipeline::new(THREAD_OPTIONS), None)?;
        }
        self.run(module, self.level.pipeline())
    }

    /// Drops branches that are never taken where the pipeline of this machine's level does not: what is in them may be more
    /// than the architecture has.
    pub(crate) fn fold(&self, module: &Module<'c>) -> Result<(), LlvmError> {
        match self.level {
            OptLevel::O0 => self.run(module, c"always-inline,function(instsimplify,simplifycfg),globaldce"),
            OptLevel::O1 | OptLevel::O2 | OptLevel::O3 => Ok(()),
        }
    }

    /// Runs a pass pipeline, in the syntax of `opt -passes=`.
    pub(crate) fn run(&self, module: &Module<'c>, passes: &CStr) -> Result<(), LlvmError> {
        module.run_passes(&Pipeline::new(passes), Some(&self.inner))
    }

    /// Prints the module as PTX. Code generation changes the module: print it once.
    pub(crate) fn emit(&self, module: Module<'c>) -> Result<String, LlvmError> {
        let text = self.inner.emit(module.into_inner(), Output::Assembly)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
