//! A compiler for tests and measurements: at once, in the thread that asks, and with a cache on disk of their own.

#[path = "fingerprints.rs"]
mod fingerprints;

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

/// Panics if a text calls the zeros of a mask defined only for masks with bits, and the mask may have none: of an empty mask some
/// processors give any number, with which LLVM then loads an element of a vector.
fn check_counts(text: &str) {
    let counts = text.lines().filter(|line| line.contains("@llvm.ctlz.") || line.contains("@llvm.cttz."));
    for line in counts.filter(|line| line.contains("i1 true")) {
        let mask = line.split_once("(i32 ").and_then(|(_, operands)| operands.split_once(','));
        let (mask, _) = mask.unwrap_or_else(|| panic!("no count of a mask: {line}"));
        assert!(text.contains(&format!("{mask} = or i32 ")), "the mask may have no bits: {line}\n{text}");
    }
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
