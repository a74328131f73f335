//! Symbols with two meanings: a variable or a kernel of one crate, and a function that another crate calls by the same name; and
//! kernels of two crates that have one name.
//!
//! LLVM's linker takes the one for the other, and the call would jump to data. Names that the compiler made up have one
//! meaning, and so do functions: who exports one under a plain name has written `unsafe` for it.

use std::collections::HashMap;

use super::symbols::{PROVIDED, is_mangled};
use crate::error::BuildError;
use crate::llvm::Module;

const KERNEL: &str = "kernel";

/// The plain names of all modules so far, with the crate that each was first seen in.
#[derive(Default)]
pub(super) struct Names {
    functions: HashMap<String, String>,
    /// Other items by name: their kinds and crates.
    others: HashMap<String, (&'static str, String)>,
}

impl Names {
    /// Adds the names of a module of this crate, before it is linked.
    pub(super) fn add(&mut self, module: &Module<'_>, of: &str) -> Result<(), BuildError> {
        let functions = module.functions().into_iter().map(|function| {
            let what = function.is_kernel().then_some(KERNEL);
            (function, what)
        });
        let variables = module.globals().into_iter().map(|global| (global, Some("variable")));
        for (value, what) in functions.chain(variables) {
            let name = value.name();
            if value.linkage().is_local() || is_mangled(&name) || name.starts_with("llvm.") {
                continue;
            }
            match what {
                None => {
                    if let Some((what, defined)) = self.others.get(&name) {
                        return Err(clash(name, what, defined, of));
                    }
                    self.functions.entry(name).or_insert_with(|| of.to_owned());
                }
                // Declarations are skipped: the defining module tells the kind of the variable.
                Some(_) if value.is_declaration() => {}
                Some(what) => {
                    if PROVIDED.contains(&name.as_str()) {
                        return Err(clash(name, what, of, "the runtime of the device"));
                    }
                    if let Some(called) = self.functions.get(&name) {
                        return Err(clash(name, what, of, called));
                    }
                    let (first, owner) = self.others.entry(name.clone()).or_insert_with(|| (what, of.to_owned()));
                    if *first == KERNEL && what == KERNEL && owner != of {
                        return Err(BuildError::KernelTwice { kernel: name, crates: [owner.clone(), of.to_owned()] });
                    }
                }
            }
        }
        Ok(())
    }
}

fn clash(symbol: String, what: &'static str, defined: &str, called: &str) -> BuildError {
    BuildError::Clash { symbol, what, defined: defined.to_owned(), function: called.to_owned() }
}
