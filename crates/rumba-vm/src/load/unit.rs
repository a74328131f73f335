//! Sources that were parsed, kept together with what borrows from them, so that kernels can be lowered later.

use std::sync::Arc;

use rumba_ptx::{Diagnostic, ast};

use crate::load::assemble::{self, ProgramOptions, Refusal};
use crate::load::error::{LoadError, Source};
use crate::load::resources::Resources;
use crate::load::verify;
use crate::lower::fixed::Instruments;
use crate::lower::sources::SourceText;
use crate::lower::symbols::{FunctionId, Located, Symbols};
use crate::lower::vectors;
use crate::machine::program::Program;

/// The parsed and verified sources of a module. Fields are dropped in their order, and borrow from later fields only.
#[derive(Debug)]
pub(crate) struct Unit {
    symbols: Symbols<'static>,
    texts: Vec<SourceText<'static>>,
    modules: Arc<[ast::Module<'static>]>,
    /// The names of the sources in reports.
    names: Vec<String>,
    /// The texts that all others borrow from.
    sources: Vec<Arc<str>>,
}

impl Unit {
    /// Parses and verifies sources. Bodies of functions are parsed, and not lowered yet.
    pub(crate) fn parse(sources: &[Source<'_>]) -> Result<Self, LoadError> {
        let fail = |errors| LoadError::new(sources, errors);
        let own: Vec<Arc<str>> = sources.iter().map(|source| Arc::from(source.ptx)).collect();
        let mut modules = Vec::new();
        let mut errors: Vec<Located> = Vec::new();
        for (index, source) in own.iter().enumerate() {
            // SAFETY: the unit holds the text as long as the module, and a text in an `Arc` neither moves nor changes.
            match rumba_ptx::parse(unsafe { outlive(&**source) }) {
                Ok(mut module) => {
                    vectors::expand(&mut module);
                    modules.push(module);
                }
                Err(found) => errors.extend(found.into_iter().map(|error| (index, error))),
            }
        }
        if !errors.is_empty() {
            return Err(fail(errors));
        }
        for (index, module) in modules.iter().enumerate() {
            if module.address_size == Some(32) {
                let error = Diagnostic::new(ast::Span::default(), "32-bit addresses are not supported")
                    .with_help("compile for `.address_size 64`");
                errors.push((index, error));
            }
        }
        for (index, module) in modules.iter().enumerate() {
            errors.extend(verify::module(module).into_iter().map(|error| (index, error)));
        }
        if !errors.is_empty() {
            return Err(fail(errors));
        }
        let modules: Arc<[ast::Module<'static>]> = modules.into();
        // SAFETY: as for the texts.
        let parsed: &'static [ast::Module<'static>] = unsafe { outlive(&*modules) };
        let symbols = Symbols::collect(parsed).map_err(fail)?;
        // SAFETY: as above.
        let texts = parsed.iter().zip(&own).map(|(module, text)| SourceText::new(unsafe { outlive(&**text) }, module));
        let texts = texts.collect();
        let names = sources.iter().map(|source| source.name.to_owned()).collect();
        Ok(Self { symbols, texts, modules, names, sources: own })
    }

    /// Builds the program of a kernel. Adds all functions that the kernel may call to `reached`.
    pub(crate) fn program(
        &self,
        kernel: FunctionId,
        device: &Resources,
        reached: &mut Vec<FunctionId>,
    ) -> Result<Program, Refusal> {
        let options = ProgramOptions {
            vector_instructions: device.config.vector_instructions,
            instruments: Instruments {
                checks: device.config.checks,
                profile: device.config.profile,
                scatter: device.config.seed.is_some(),
                choices: device.exploration.is_some(),
            },
        };
        assemble::program(&self.symbols, &self.texts, &self.names, kernel, &options, reached)
    }

    /// Errors in the sources, as a report.
    pub(crate) fn error(&self, errors: Vec<Located>) -> LoadError {
        let sources = self.names.iter().zip(&self.sources);
        let sources: Vec<Source<'_>> = sources.map(|(name, ptx)| Source { name, ptx }).collect();
        LoadError::new(&sources, errors)
    }

    /// The functions and variables.
    pub(crate) fn symbols(&self) -> &Symbols<'_> {
        &self.symbols
    }

    /// The functions and variables, which get their addresses when the module is placed.
    pub(crate) fn symbols_mut(&mut self) -> &mut Symbols<'static> {
        &mut self.symbols
    }

    /// The texts, with their lines and files.
    pub(crate) fn texts(&self) -> &[SourceText<'_>] {
        &self.texts
    }

    /// The syntax trees.
    pub(crate) fn modules(&self) -> &[ast::Module<'_>] {
        &self.modules
    }
}

/// A reference for longer than the compiler knows its target to live.
///
/// # Safety
/// The target neither moves nor changes, nor is it dropped, while the reference or a copy of it is used.
unsafe fn outlive<'long, T: ?Sized>(reference: &T) -> &'long T {
    // SAFETY: the caller's.
    unsafe { &*std::ptr::from_ref(reference) }
}
