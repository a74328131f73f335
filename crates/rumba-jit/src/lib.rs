//! Functions of this process from LLVM's assembly: compiled for its processor, kept on disk, made in the background.
//!
//! [`Jit`] takes texts and gives [`Code`]. What it has compiled once it finds again in a [`Cache`], in later processes too, and
//! then needs no LLVM. Objects are linked by this crate ([`Code::load`]), so only compiling loads `libLLVM`. It knows nothing of
//! PTX, of kernels, or of the variables of the environment.

mod cache;
mod code;
mod exit;
mod jit;
mod memory;
mod processor;
mod relocate;
mod symbols;

pub use cache::{Cache, CacheError, Key};
pub use code::{Code, LinkError};
pub use jit::{Done, Found, Jit, JitError, Settings, Source};

use rumba_llvm::{Context, Level, Llvm, LlvmError, Machine, Module, Output, Pipeline};

/// The passes for texts whose vectors have the lanes of a warp: loops are not vectorized again.
pub const WARP_PASSES: Pipeline<'static> = Pipeline { passes: c"default<O2>", widens_loops: false };

/// Compiles assembly to an object for the processor of this process. The text needs no triple and no data layout.
///
/// # Errors
/// If the text is not well formed, or if LLVM cannot compile it, with LLVM's words.
pub fn object(llvm: &'static Llvm, text: &str, pipeline: &Pipeline<'_>, level: Level) -> Result<Vec<u8>, LlvmError> {
    emit(llvm, text, pipeline, level, Output::Object)
}

/// The code as assembler text, for humans.
///
/// # Errors
/// The errors of [`object()`].
pub fn assembly(llvm: &'static Llvm, text: &str, pipeline: &Pipeline<'_>) -> Result<String, LlvmError> {
    let text = emit(llvm, text, pipeline, Level::O3, Output::Assembly)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn emit(
    llvm: &'static Llvm,
    text: &str,
    pipeline: &Pipeline<'_>,
    level: Level,
    output: Output,
) -> Result<Vec<u8>, LlvmError> {
    let (text, passes, widens_loops) = (text.to_owned(), pipeline.passes.to_owned(), pipeline.widens_loops);
    llvm.guarded(move || {
        let context = Context::new(llvm);
        let module = Module::parse(&context, &text)?;
        let machine = Machine::host(&context, level)?;
        machine.adopt(&module);
        let pipeline = Pipeline { passes: &passes, widens_loops };
        module.run_passes(&pipeline, Some(&machine))?;
        machine.emit(module, output)
    })
}
