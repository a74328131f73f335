//! Brings the bitcode of all crates into one module.
//!
//! The kernel crate is linked completely, and so are the exports of other crates of the build. From all other
//! libraries only needed symbols are linked, and the rest is not even read: LLVM reads function bodies on
//! demand.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::path::Path;

use object::read::ReadCache;
use object::read::archive::ArchiveFile;

use super::clash::Names;
use super::{Failure, Input, LibraryFile, atomics, read, symbols};
use crate::error::BuildError;
use crate::llvm::{Linkage, Machine, Module, Value};

/// Definitions of functions that `cuda_std` declares, for instructions without an intrinsic in Rust.
const BUILTINS: &str = include_str!("builtins.ll");

/// The contents of the files, from which modules are read on demand.
pub(super) struct Files {
    libraries: Vec<Library>,
    libdevice: Option<Vec<u8>>,
}

/// The bitcode files of an rlib.
struct Library {
    /// The crate's name.
    name: String,
    members: Vec<Vec<u8>>,
    standard: bool,
}

impl Library {
    fn bitcodes(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(Vec::as_slice)
    }
}

/// Reads all files.
pub(super) fn read_all(input: &Input) -> Result<Files, BuildError> {
    Ok(Files {
        libraries: input.libraries.iter().map(library).collect::<Result<_, _>>()?,
        libdevice: input.libdevice.as_deref().map(read).transpose()?,
    })
}

/// Links everything in `files` into `module`.
pub(super) fn link_all<'c>(module: &Module<'c>, machine: &Machine<'c>, files: &'c Files) -> Result<(), Failure> {
    let context = module.context();
    let (kernels, others): (&[Library], &[Library]) = files.libraries.split_at(1.min(files.libraries.len()));
    let mut names = Names::default();
    for library in kernels {
        for bitcode in library.bitcodes() {
            let source = Module::read(context, bitcode)?;
            names.add(&source, &library.name)?;
            module.link(source)?;
        }
    }
    for library in others.iter().filter(|library| !library.standard) {
        for bitcode in library.bitcodes() {
            let source = Module::read(context, bitcode)?;
            link_needed(module, source, Exports::Kept, &library.name, &mut names)?;
        }
    }
    // Crates need each other in both directions, so they are linked until nothing new comes of it.
    link_until_done(module, others.iter().filter(|library| !library.standard), &mut names)?;
    let wanted = BTreeSet::from_iter(missing(module));
    let generated: String = wanted.iter().filter_map(|name| atomics::definition(name)).collect();
    for text in [BUILTINS, &generated] {
        let builtins = Module::parse(context, text)?;
        machine.adopt(&builtins);
        link_needed(module, builtins, Exports::Dropped, "cuda_builder", &mut names)?;
    }
    if let Some(libdevice) = &files.libdevice {
        let libdevice = Module::read(context, libdevice)?;
        machine.adopt(&libdevice);
        link_needed(module, libdevice, Exports::Dropped, "libdevice", &mut names)?;
    }
    link_until_done(module, others.iter(), &mut names)
}

/// Links what is needed of libraries, for as long as they add anything.
fn link_until_done<'c>(
    module: &Module<'c>,
    libraries: impl Iterator<Item = &'c Library> + Clone,
    names: &mut Names,
) -> Result<(), Failure> {
    loop {
        let mut progress = false;
        let bitcodes = libraries.clone();
        for (library, bitcode) in bitcodes.flat_map(|library| library.bitcodes().map(move |bitcode| (library, bitcode)))
        {
            if missing(module).is_empty() {
                return Ok(());
            }
            let source = Module::read(module.context(), bitcode)?;
            progress |= link_needed(module, source, Exports::Dropped, &library.name, names)?;
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

/// The treatment of symbols that the host, the driver or the link stage may look up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exports {
    /// They are linked, needed or not.
    Kept,
    /// They are linked if they are needed: the source is a library, or was linked before.
    Dropped,
}

/// Links what `module` needs of `source`, which is of this crate, and says whether that was anything.
fn link_needed<'c>(
    module: &Module<'c>,
    source: Module<'c>,
    exports: Exports,
    of: &str,
    names: &mut Names,
) -> Result<bool, Failure> {
    let missing = missing(module);
    let mut useful = false;
    let functions = source.functions().into_iter().map(|function| (function, function.is_kernel()));
    let globals = source.globals().into_iter().map(|global| (global, false));
    for (value, is_kernel) in functions.chain(globals) {
        if value.is_declaration() || value.linkage().is_local() {
            continue;
        }
        let name = value.name();
        if name.starts_with("llvm.") {
            continue;
        }
        let kept = exports == Exports::Kept && (is_kernel || !symbols::is_mangled(&name));
        useful |= kept || missing.contains(&name);
        if !kept {
            // The linker leaves out what has this linkage and is not referred to.
            value.set_linkage(Linkage::LinkOnceOdr);
        }
    }
    if useful {
        names.add(&source, of)?;
        module.link(source)?;
    }
    Ok(useful)
}

/// Reads the bitcode files of an rlib, and not what is most of it: the compiler's metadata.
fn library(library: &LibraryFile) -> Result<Library, BuildError> {
    let path = &library.path;
    let broken = |reason: String| BuildError::Rlib { path: path.clone(), reason };
    let file = File::open(path).map_err(|source| BuildError::Io { path: path.clone(), source })?;
    let file = ReadCache::new(file);
    let archive = ArchiveFile::parse(&file).map_err(|error| broken(error.to_string()))?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|error| broken(error.to_string()))?;
        if !member.name().ends_with(b".o") {
            continue;
        }
        let data = member.data(&file).map_err(|error| broken(error.to_string()))?;
        if !data.starts_with(b"BC\xc0\xde") {
            let name = String::from_utf8_lossy(member.name());
            return Err(broken(format!("{name} is not bitcode")));
        }
        members.push(data.to_vec());
    }
    Ok(Library { name: crate_name(path), members, standard: library.standard })
}

/// The crate of `libNAME-HASH.rlib`.
fn crate_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_prefix("lib").unwrap_or(&stem);
    stem.rsplit_once('-').map_or(stem, |(name, _)| name).to_owned()
}
