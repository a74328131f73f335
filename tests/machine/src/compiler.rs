//! LLVM as the machine's compiler: at once, in the thread that launches, for a processor of choice.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rumba_jit::{Cache, Jit, JitError, Settings, Source, WARP_PASSES};
use rumba_llvm::{BackEnd, Context, Level, Llvm, LlvmError, Machine, Module, Output, Target, find};
use rumba_vm::engine::{Code, Compiler, Done, ENTRY_POINT, Unit};

/// The environment's name for a `libLLVM`, as the software device has it.
const LIBRARY: &str = "RUMBA_LLVM_LIBRARY";

/// The `libLLVM` that compiles kernels.
pub fn library() -> Option<PathBuf> {
    std::env::var_os(LIBRARY).map(PathBuf::from).or_else(find::library)
}

/// The compiler.
#[derive(Debug)]
pub(crate) struct AtOnce {
    /// Without one, texts are written and nothing is compiled.
    library: Option<PathBuf>,
    /// The target processor, whose instructions this processor has. LLVM selects differently for other targets.
    processor: Option<String>,
    /// The compiler of this processor that keeps code on disk, if code is to be kept.
    kept: Option<Jit>,
    /// Why a text was not compiled. Texts are the machine's: LLVM accepts them.
    error: Mutex<Option<String>>,
}

impl AtOnce {
    pub(crate) fn new(library: Option<PathBuf>, processor: Option<&str>) -> Self {
        Self { library, processor: processor.map(str::to_owned), kept: None, error: Mutex::new(None) }
    }

    /// A compiler for this processor that keeps code on disk.
    pub(crate) fn keeping(library: PathBuf, cache: Cache) -> Self {
        let jit = Jit::new(Settings {
            library: self::library,
            cache: Some(cache),
            build: "random programs".to_owned(),
            pipeline: WARP_PASSES,
            level: Level::O3,
            log: |_| (),
        });
        Self { kept: Some(jit), ..Self::new(Some(library), None) }
    }

    /// Why a text was refused since the last question.
    pub(crate) fn take_error(&self) -> Option<String> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn make(&self, library: &Path, text: &str) -> Result<Code, String> {
        if let Some(jit) = &self.kept {
            match jit.compile_now(&Source::of_text("random program", text)) {
                // No program of a user waits for the code of this text: it is compiled, and not kept.
                Err(JitError::Long { .. }) => {}
                code => return entry(code.map_err(|error| error.to_string())?),
            }
        }
        let llvm = rumba_llvm::load_isolated(library).map_err(|error| error.to_string())?;
        let object = self.object(llvm, text).map_err(|error| error.to_string())?;
        let code = rumba_jit::Code::load(&object).map_err(|error| error.to_string())?;
        entry(Arc::new(code))
    }

    fn object(&self, llvm: &'static Llvm, text: &str) -> Result<Vec<u8>, LlvmError> {
        let Some(processor) = &self.processor else {
            return rumba_jit::object(llvm, text, &WARP_PASSES, Level::O3);
        };
        let (_, features) = llvm.host();
        let (text, processor) = (text.to_owned(), processor.clone());
        let triple = CString::new(format!("{}-unknown-linux-gnu", std::env::consts::ARCH)).unwrap_or_default();
        llvm.guarded(move || {
            let context = Context::new(llvm);
            let module = Module::parse(&context, &text)?;
            let target = Target {
                back_end: BackEnd::host().ok_or_else(|| LlvmError("no code is compiled here".to_owned()))?,
                triple: &triple,
                cpu: &processor,
                features: &features,
                level: Level::O3,
                position_independent: true,
            };
            let machine = Machine::new(&context, &target)?;
            machine.adopt(&module);
            module.run_passes(&WARP_PASSES, Some(&machine))?;
            machine.emit(module, Output::Object)
        })
    }
}

/// The function that the machine calls.
fn entry(code: Arc<rumba_jit::Code>) -> Result<Code, String> {
    let entry = code.symbol(ENTRY_POINT).ok_or("the text defines no entry")?;
    Ok(Code { entry, owner: code })
}

// SAFETY: LLVM compiles for the features that this processor has, and the code is held by the owner.
unsafe impl Compiler for AtOnce {
    fn compile(&self, unit: Unit, done: Done) {
        let Some(library) = &self.library else {
            return done(Err("nothing is compiled".to_owned()));
        };
        let made = self.make(library, &unit.text);
        if let Err(error) = &made {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        }
        done(made);
    }
}
