//! A compiler for tests and measurements: at once, in the thread that asks, and with a cache on disk of their own.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rumba_jit::{Cache, Jit, Settings};
use rumba_llvm::Pipeline;
use rumba_vm::Engine;
use rumba_vm::engine::{Code, Compiler, Done, ENTRY_POINT, Unit};

/// In the environment: a file that lists what was compiled.
pub(crate) const COMPILED: &str = "RUMBA_TEST_COMPILED";

#[derive(Debug)]
struct AtOnce {
    jit: Jit,
    /// The processor that LLVM chooses instructions for: that of this machine, or another one.
    tuned_for: Option<&'static str>,
}

// SAFETY: LLVM compiles for this processor, and the code is held by the owner.
unsafe impl Compiler for AtOnce {
    fn compile(&self, mut unit: Unit, done: Done) {
        if let Some(processor) = self.tuned_for {
            let attributes = format!("attributes #0 = {{ \"tune-cpu\"=\"{processor}\" ");
            unit.text = unit.text.replace("attributes #0 = { ", &attributes);
        }
        if let Some(folder) = std::env::var_os("RUMBA_TEST_TEXTS") {
            let path = Path::new(&folder).join(format!("{}.ll", unit.kernel));
            std::fs::write(path, &unit.text).expect("the folder can be written to");
        }
        if let Some(file) = std::env::var_os(COMPILED) {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
            writeln!(file.expect("the file can be written to"), "{}", unit.kernel).expect("so it can be");
        }
        let code = match self.jit.compile_now(&unit.kernel, &unit.text) {
            Ok(code) => code,
            Err(error) => panic!("{}: {error}\n{}", unit.kernel, unit.text),
        };
        let entry = code.symbol(ENTRY_POINT).expect("the text defines it");
        done(Ok(Code { entry, owner: code }));
    }
}

/// Native code, made when a kernel is first launched; nothing on machines without LLVM.
pub(crate) fn native() -> Option<Engine> {
    static ENGINE: OnceLock<Option<Engine>> = OnceLock::new();
    ENGINE.get_or_init(|| native_tuned_for(None)).clone()
}

/// The same with the instructions that are best on another processor; they are instructions of this one all the same.
pub(crate) fn native_tuned_for(tuned_for: Option<&'static str>) -> Option<Engine> {
    rumba_llvm::find::library()?;
    let jit = Jit::new(Settings {
        library: rumba_llvm::find::library,
        // Thousands of small kernels are compiled once for all runs of the tests.
        cache: option_env!("CARGO_TARGET_TMPDIR").map(|folder| Cache::new(Path::new(folder).join("native"))),
        build: "test".to_owned(),
        pipeline: Pipeline {
            passes: c"default<O2>",
            widens_loops: false,
        },
        log: |_| (),
    });
    Some(Engine::compiled(Arc::new(AtOnce { jit, tuned_for })))
}
