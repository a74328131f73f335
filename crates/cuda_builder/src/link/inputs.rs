//! Brings the bitcode of all crates into one module.
//!
//! Crates of the build are linked whole: they are small, and what the kernels do not reach is removed
//! before it costs anything. Of the standard library and of libdevice only what is needed is linked,
//! and the rest is not even read: LLVM reads function bodies on demand.

use std::collections::{BTreeSet, HashSet};

use object::read::archive::ArchiveFile;

use super::{Failure, Input, LibraryFile, atomics, read};
use crate::error::BuildError;
use crate::llvm::{Context, Linkage, Machine, Module, Value};

/// Instructions that Rust has no name for, as functions that `cuda_std` declares.
const BUILTINS: &str = include_str!("builtins.ll");

/// Links everything in `input` into `module`.
pub(super) fn link_all<'c>(module: &Module<'c>, machine: &Machine<'c>, input: &Input) -> Result<(), Failure> {
    let context = module.context();
    for library in input.libraries.iter().filter(|library| !library.standard) {
        for bitcode in members(library)? {
            module.link(Module::read(context, &bitcode)?)?;
        }
    }
    let names = BTreeSet::from_iter(missing(module));
    let generated: String = names.iter().filter_map(|name| atomics::definition(name)).collect();
    for text in [BUILTINS, &generated] {
        let builtins = Module::parse(context, text)?;
        machine.adopt(&builtins);
        link_needed(module, builtins)?;
    }
    if let Some(path) = &input.libdevice {
        let libdevice = Module::read(context, &read(path)?)?;
        machine.adopt(&libdevice);
        link_needed(module, libdevice)?;
    }
    let mut standard = Vec::new();
    for library in input.libraries.iter().filter(|library| library.standard) {
        standard.extend(members(library)?);
    }
    link_standard(context, module, &standard)
}

/// The crates of the standard library need each other in both directions, so they are linked until
/// nothing new comes of it.
fn link_standard<'c>(context: &'c Context, module: &Module<'c>, bitcodes: &[Vec<u8>]) -> Result<(), Failure> {
    loop {
        let mut progress = false;
        for bitcode in bitcodes {
            if missing(module).is_empty() {
                return Ok(());
            }
            progress |= link_needed(module, Module::read(context, bitcode)?)?;
        }
        if !progress {
            return Ok(());
        }
    }
}

/// The functions and variables that are declared and not defined.
fn missing(module: &Module<'_>) -> HashSet<String> {
    module
        .functions()
        .into_iter()
        .chain(module.globals())
        .filter(|value| value.is_declaration() && value.is_used())
        .map(Value::name)
        .filter(|name| !name.starts_with("llvm."))
        .collect()
}

/// Links what `module` needs of `source`, and says whether that was anything.
fn link_needed<'c>(module: &Module<'c>, source: Module<'c>) -> Result<bool, Failure> {
    let missing = missing(module);
    let mut useful = false;
    for value in source.functions().into_iter().chain(source.globals()) {
        if value.is_declaration() || value.linkage().is_local() {
            continue;
        }
        useful |= missing.contains(&value.name());
        // The linker leaves out what has this linkage and is not referred to.
        value.set_linkage(Linkage::LinkOnceOdr);
    }
    if useful {
        module.link(source)?;
    }
    Ok(useful)
}

/// The bitcode files in an rlib.
fn members(library: &LibraryFile) -> Result<Vec<Vec<u8>>, BuildError> {
    let path = &library.path;
    let bytes = read(path)?;
    let broken = |reason: String| BuildError::Rlib {
        path: path.clone(),
        reason,
    };
    let archive = ArchiveFile::parse(&*bytes).map_err(|error| broken(error.to_string()))?;
    let mut bitcodes = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|error| broken(error.to_string()))?;
        if !member.name().ends_with(b".o") {
            continue;
        }
        let data = member.data(&*bytes).map_err(|error| broken(error.to_string()))?;
        if !data.starts_with(b"BC\xc0\xde") {
            let name = String::from_utf8_lossy(member.name());
            return Err(broken(format!("{name} is not bitcode")));
        }
        bitcodes.push(data.to_vec());
    }
    Ok(bitcodes)
}
