//! A compiler for tests and measurements: at once, in the thread that asks, and with a cache on disk of their own.

#[path = "fingerprints.rs"]
mod fingerprints;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rumba_interface::environment::cache_folder;
use rumba_jit::{Cache, Jit, Settings, Source};
use rumba_llvm::Level;
use rumba_vm::Engine;
use rumba_vm::engine::{Code, Compiler, Done, ENTRY_POINT, Unit};

/// The variable that names a file, to which the names of compiled kernels are appended.
pub(crate) const COMPILED: &str = "RUMBA_TEST_COMPILED";

/// The variable that names a folder for the texts of compiled kernels.
const TEXTS: &str = "RUMBA_TEST_TEXTS";

/// The variable of the level of LLVM's code generator, as the software device has it.
const LEVEL: &str = "RUMBA_CODEGEN_LEVEL";

/// Compiles each text in the calling thread, after `edit` has changed it.
#[derive(Debug)]
struct AtOnce {
    jit: Arc<Jit>,
    edit: Option<fn(&str) -> String>,
}

// SAFETY: LLVM compiles for this processor, and the code is held by the owner.
unsafe impl Compiler for AtOnce {
    fn compile(&self, unit: Unit, done: Done) {
        fingerprints::check(&unit);
        check_counts(&unit.text);
        let text = self.edit.map_or_else(|| unit.text.clone(), |edit| edit(&unit.text));
        if let Some(folder) = std::env::var_os(TEXTS) {
            let path = Path::new(&folder).join(format!("{}.ll", unit.kernel));
            std::fs::write(path, &text).expect("the folder can be written to");
        }
        if let Some(file) = std::env::var_os(COMPILED) {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
            writeln!(file.expect("the file can be written to"), "{}", unit.kernel).expect("so it can be");
        }
        match self.jit.compile_now(&Source::of_text(&unit.kernel, &text)) {
            Ok(made) => done(Ok(code(made))),
            Err(error) => panic!("{}: {error}\n{text}", unit.kernel),
        }
    }
}

/// Panics if a text takes an element of a vector whose number is a count of a mask's zeros, and the mask may have no bits: of an empty
/// mask some processors give any number, with which LLVM then loads the element.
fn check_counts(text: &str) {
    let definitions: HashMap<&str, &str> = text.lines().filter_map(|line| line.trim().split_once(" = ")).collect();
    let operand = |definition: &str| -> Option<String> {
        let (_, operand) = definition.split_once("i32 %")?;
        Some(format!("%{}", operand.split(',').next()?))
    };
    for (_, element) in definitions.iter().filter(|(_, element)| element.starts_with("extractelement ")) {
        let Some((_, number)) = element.rsplit_once(", i32 %") else { continue };
        let mut name = format!("%{number}");
        while let Some(definition) = definitions.get(&*name) {
            if definition.contains("@llvm.ctlz.") || definition.contains("@llvm.cttz.") {
                let (_, count) = definition.split_once('(').expect("a call has operands");
                let mask = operand(count).and_then(|mask| definitions.get(&*mask));
                assert!(
                    mask.is_some_and(|mask| mask.starts_with("or i32 ")),
                    "the mask may be empty: {element}\n{text}"
                );
            }
            let is_changed = definition.starts_with("xor i32 ") || definition.starts_with("and i32 ");
            match operand(definition).filter(|_| is_changed) {
                Some(next) => name = next,
                None => break,
            }
        }
    }
}

#[test]
#[should_panic = "the mask may be empty"]
fn a_count_of_a_mask_that_may_be_empty_is_found() {
    check_counts(
        "  %m = load i32, ptr %mask
           %behind = call i32 @llvm.ctlz.i32(i32 %m, i1 false)
           %last = xor i32 %behind, 31
           %lane = and i32 %last, 31
           %one = extractelement <32 x i32> %all, i32 %lane",
    );
}

fn code(code: Arc<rumba_jit::Code>) -> Code {
    let entry = code.symbol(ENTRY_POINT).expect("the text defines it");
    Code { entry, owner: code }
}

/// Native code, made when a kernel is first launched; nothing on machines without LLVM.
pub(crate) fn native() -> Option<Engine> {
    static ENGINE: OnceLock<Option<Engine>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| Some(Engine::compiled(of(None)?)));
    engine.clone()
}

/// A compiler of texts, which are edited first.
pub(crate) fn of(edit: Option<fn(&str) -> String>) -> Option<Arc<dyn Compiler>> {
    static JIT: OnceLock<Option<Arc<Jit>>> = OnceLock::new();
    let jit = JIT.get_or_init(|| {
        rumba_llvm::find::library()?;
        let jit = Jit::new(Settings {
            library: rumba_llvm::find::library,
            // Thousands of small kernels are compiled once for all runs of the tests, and for all clones.
            cache: cache_folder().map(|folder| Cache::new(folder.join("tests/native"))),
            build: "test".to_owned(),
            pipeline: rumba_jit::WARP_PASSES,
            level: std::env::var(LEVEL).ok().and_then(|digit| Level::parse(&digit)).unwrap_or(Level::O3),
            log: |_| (),
        });
        Some(Arc::new(jit))
    });
    let jit = jit.clone()?;
    Some(Arc::new(AtOnce { jit, edit }))
}
