//! A kernel with what it needs, as a module of its own.
//!
//! A part depends on nothing else in the crate: a kernel's code does not depend on other kernels. Functions that
//! several kernels use occur in several parts, and once in the text (see `merge`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Failure;
use super::symbols::{self, Symbols};
use super::version::Need;
use crate::arch::NvvmArch;
use crate::llvm::{Context, Linkage, Machine, Module};

/// All crates as one module.
pub(super) struct Whole {
    pub(super) bitcode: Vec<u8>,
    pub(super) symbols: Symbols,
    /// The requirements of each kernel's directives, which an older floor omits.
    pub(super) directives: HashMap<String, Need>,
    /// What kernels probably need beyond that.
    pub(super) estimates: HashMap<String, Need>,
    /// The kernels' descriptions.
    pub(super) descriptions: BTreeMap<String, String>,
    /// The architectures of those kernels that state some.
    pub(super) stated: BTreeMap<String, Vec<NvvmArch>>,
}

/// Takes a part out of the whole.
pub(super) fn extract<'c>(
    context: &'c Context,
    machine: &Machine<'c>,
    whole: &'c Whole,
    kernel: Option<&str>,
) -> Result<Module<'c>, Failure> {
    let source = Module::read(context, &whole.bitcode)?;
    let mut lent = BTreeSet::new();
    for function in source.functions() {
        if function.is_kernel() && !function.is_declaration() && Some(function.name().as_str()) != kernel {
            function.set_linkage(Linkage::LinkOnceOdr);
        }
    }
    for global in source.globals() {
        let name = global.name();
        let is_kept = kernel.is_none() && whole.symbols.statics.contains(&name);
        if global.linkage() == Linkage::External && !global.is_declaration() && !is_kept {
            // The linker leaves out what has this linkage and is not referred to.
            global.set_linkage(Linkage::LinkOnceOdr);
            lent.insert(name);
        }
    }
    let part = Module::new(context, c"kernels");
    machine.adopt(&part);
    part.link(source)?;
    for global in part.globals() {
        if lent.contains(&global.name()) {
            global.set_linkage(Linkage::External);
        } else if !global.is_declaration() {
            symbols::rename_one(global);
        }
    }
    Ok(part)
}

/// Puts an optimised part back beside others.
pub(super) fn add<'c>(module: &Module<'c>, part: Module<'c>) -> Result<(), Failure> {
    for global in part.globals() {
        if global.linkage() == Linkage::External && !global.is_declaration() {
            global.set_linkage(Linkage::LinkOnceOdr);
        }
    }
    Ok(module.link(part)?)
}
