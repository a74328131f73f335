//! Cases on engines: the interpreter without and with its fast paths, and native code, each on a device of its own.

use std::fmt::{Display, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rumba_jit::Cache;
use rumba_vm::{Check, Config, Device, Engine, FaultKind, Finding, Launch, LaunchFailure, Severity, Source};
use thiserror::Error;

use crate::case::{Argument, Case, Shape};
use crate::compiler::{AtOnce, library};

/// Warp instructions that a launch may execute.
const LIMIT: u64 = 3_000_000;

/// An engine that runs cases.
#[derive(Debug, Clone)]
pub struct NamedEngine {
    /// Its name in reports.
    pub name: &'static str,
    config: Config,
    /// Whether it finds what the first engine does not look for.
    finds: bool,
    compiler: Option<Arc<AtOnce>>,
}

/// The engines whose results are compared with those of the first engine.
#[derive(Debug, Clone)]
pub struct Engines(Vec<NamedEngine>);

impl Engines {
    /// The interpreter alone.
    pub fn interpreters() -> Self {
        let plain = Config {
            // The system gives the memory of one device to the next device, so their addresses are equal.
            memory_bytes: 64 << 20,
            workers: 1,
            stack_bytes: 4096,
            ..Config::default()
        };
        let engine = |name, config| NamedEngine { name, config, finds: false, compiler: None };
        let checks = [Check::Mem, Check::Init, Check::Race, Check::Sync].into_iter().collect();
        let checked = Config { checks, ..plain.clone() };
        Self(vec![
            engine("the interpreter", plain.clone()),
            engine("the interpreter without vector instructions", Config { vector_instructions: false, ..plain }),
            NamedEngine { finds: true, ..engine("the interpreter with checks", checked) },
        ])
        .limited(LIMIT)
    }

    /// The interpreter and native code, if a `libLLVM` is found: code for this processor, but selected as for a
    /// processor of LLVM's list, if given.
    pub fn all(processor: Option<&str>) -> Option<Self> {
        Some(Self::with(AtOnce::new(Some(library()?), processor)))
    }

    /// The interpreter and native code, which is found in the folder, or compiled and kept there.
    pub fn keeping_code_in(folder: PathBuf) -> Option<Self> {
        Some(Self::with(AtOnce::keeping(library()?, Cache::new(folder))))
    }

    /// The interpreter, and the texts of native code, of which nothing is made: what writes them runs.
    pub fn uncompiled() -> Self {
        Self::with(AtOnce::new(None, None))
    }

    fn with(compiler: AtOnce) -> Self {
        let compiler = Arc::new(compiler);
        let mut all = Self::interpreters();
        let checked = all.0.iter().find(|engine| engine.finds);
        let both = [("native code", all.0.first()), ("native code with checks", checked)];
        let compiled = both.into_iter().filter_map(|(name, engine)| {
            let engine = engine?;
            let config = Config { engine: Engine::compiled(compiler.clone()), ..engine.config.clone() };
            Some(NamedEngine { name, config, compiler: Some(compiler.clone()), ..*engine })
        });
        let compiled: Vec<NamedEngine> = compiled.collect();
        all.0.extend(compiled);
        all
    }

    /// The same engines without those with checks, which take several times as long as the other engines.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.0.retain(|engine| !engine.finds);
        self
    }

    /// The same for launches of so many warp instructions at most. Checked launches execute more instructions, and have a limit that
    /// is twenty times as high.
    #[must_use]
    pub fn limited(mut self, instructions: u64) -> Self {
        for engine in &mut self.0 {
            engine.config.instruction_limit = if engine.finds { instructions.saturating_mul(20) } else { instructions };
        }
        self
    }
}

/// The agreement between ways of running a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// All launches came to their end.
    Ended,
    /// A launch failed, and all about the failure that is determined is the same.
    Failed,
    /// A launch reached the limit of instructions, or the devices had other addresses: nothing was compared.
    Unknown,
}

/// Why a case is not as it should be.
#[derive(Debug, Error)]
pub enum Disagreement {
    /// The module is not accepted.
    #[error("the module is refused: {0}")]
    Refused(String),
    /// The compiler refuses the machine's text.
    #[error("the text of a kernel is refused: {0}")]
    Text(String),
    /// Two ways differ.
    #[error("{engine} differs from the interpreter: {what}")]
    Differs {
        /// The engine.
        engine: &'static str,
        /// The difference.
        what: String,
    },
}

/// The observable results of a case's launches.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Where the first buffer lies.
    origin: u64,
    /// How a launch failed, if one did; the others were not begun.
    failure: Option<String>,
    /// Nothing after a launch whose end is not determined.
    after: Option<After>,
}

/// The results that launches leave behind.
#[derive(Debug, PartialEq)]
struct After {
    findings: Vec<Finding>,
    buffers: Vec<Vec<u8>>,
    output: Vec<u8>,
}

/// The determined part of a launch's failure, and whether the other results are determined.
fn failure(failure: &LaunchFailure, shape: Shape) -> (String, bool) {
    match failure {
        // How many instructions a launch has executed when its limit ends it depends on where the engine looks.
        LaunchFailure::Fault(fault) if fault.kind == FaultKind::Timeout => (fault.kind.to_string(), false),
        // The schedule decides which of several warps faults first, and how far the other warps have run.
        LaunchFailure::Fault(fault) if !shape.is_one_warp() => (format!("{}: {}", fault.kind, fault.message), false),
        // With thread, place and line.
        LaunchFailure::Fault(_) | LaunchFailure::Refused(_) => (failure.to_string(), true),
    }
}

impl NamedEngine {
    fn run(&self, case: &Case) -> Result<Seen, Disagreement> {
        let refused = |error: &dyn Display| Disagreement::Refused(error.to_string());
        let device = Device::new(self.config.clone()).map_err(|error| refused(&error))?;
        let printed = Arc::new(Mutex::new(Vec::new()));
        let sink = printed.clone();
        device.set_output(Box::new(move |text: &[u8]| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).extend(text);
        }));
        let source = Source { name: "case.ptx", ptx: &case.ptx };
        let module = device.load(&[source]).map_err(|error| refused(&error))?;
        let mut functions: Vec<_> = module.functions().collect();
        functions.sort_by(|a, b| a.name().cmp(b.name()));
        let (mut parameters, mut buffers) = (Vec::new(), Vec::new());
        for argument in &case.arguments {
            let bytes = match argument {
                Argument::Buffer(bytes, seed) => {
                    let address = device.allocate(*bytes).map_err(|error| refused(&error))?;
                    // SAFETY: no launch runs, and nothing else knows the buffer.
                    unsafe { device.write(address, &Argument::contents(*bytes, *seed)) }
                        .map_err(|error| refused(&error))?;
                    buffers.push((address, *bytes));
                    address.to_le_bytes().to_vec()
                }
                Argument::Word(word) => word.to_le_bytes().to_vec(),
                Argument::Wide(wide) => wide.to_le_bytes().to_vec(),
            };
            parameters.resize(parameters.len().next_multiple_of(bytes.len()), 0);
            parameters.extend(bytes);
        }
        let (mut failed, mut is_determined) = (None, true);
        buffers.extend(case.variables.iter().filter_map(|name| module.global(name)));
        'launches: for shape in &case.launches {
            for function in &functions {
                parameters.resize(function.parameter_bytes(), 0);
                let launch = Launch {
                    grid: shape.grid,
                    block: shape.block,
                    dynamic_shared: 0,
                    parameters: &parameters,
                    cooperative: false,
                    cluster: None,
                    device: 0,
                };
                if let Err(error) = device.launch(function, &launch) {
                    let (text, determined) = failure(&error, *shape);
                    (failed, is_determined) = (Some(text), determined);
                    break 'launches;
                }
            }
        }
        let after = is_determined.then(|| After {
            findings: device.take_findings(),
            buffers: buffers.iter().map(|(address, bytes)| read(&device, *address, *bytes)).collect(),
            output: std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner)),
        });
        if let Some(error) = self.compiler.as_ref().and_then(|compiler| compiler.take_error()) {
            return Err(Disagreement::Text(error));
        }
        Ok(Seen { origin: buffers.first().map_or(0, |(address, _)| *address), failure: failed, after })
    }
}

fn read(device: &Device, address: u64, bytes: usize) -> Vec<u8> {
    let mut contents = vec![0; bytes];
    // SAFETY: no launch is pending, and the buffer lives as long as the device.
    match unsafe { device.read(address, &mut contents) } {
        Ok(()) => contents,
        Err(error) => error.to_string().into_bytes(),
    }
}

/// The words of a checked run about an access outside of the variable that its address is made of (rumba-vm, `load/instrument/arrays.rs`).
const OUTSIDE_OF_VARIABLE: &str = "of whose address it is made";

/// How two runs differ, if they do.
fn difference(seen: &Seen, expected: &Seen) -> Option<String> {
    if seen.failure != expected.failure {
        let words = |seen: &Seen| seen.failure.clone().unwrap_or_else(|| "no failure".to_owned());
        return Some(format!("{}\nand not: {}", words(seen), words(expected)));
    }
    let (Some(after), Some(before)) = (&seen.after, &expected.after) else {
        return None;
    };
    let mut words = String::new();
    for (number, (found, wanted)) in after.buffers.iter().zip(&before.buffers).enumerate() {
        let differing: Vec<usize> = (0..found.len().min(wanted.len())).filter(|at| found[*at] != wanted[*at]).collect();
        if let Some(first) = differing.first() {
            let word = |bytes: &[u8]| {
                let start = first & !3;
                let word = bytes.get(start..start + 4).and_then(|word| word.try_into().ok());
                word.map_or(0, u32::from_le_bytes)
            };
            // Writing to a string does not fail.
            let _ = write!(
                words,
                "{} bytes of buffer {number}, the word of the first one, {first}, is {:#x} instead of {:#x}; ",
                differing.len(),
                word(found),
                word(wanted)
            );
        }
    }
    if after.findings != before.findings {
        let _ = write!(words, "findings {:?} instead of {:?}; ", after.findings, before.findings);
    }
    if after.output != before.output {
        let _ = write!(words, "what is printed; ");
    }
    (!words.is_empty()).then_some(words)
}

impl Engines {
    /// The findings above information about undefined memory, data races and synchronization.
    ///
    /// # Errors
    /// If the module is refused.
    pub fn findings(&self, case: &Case) -> Result<Vec<String>, Disagreement> {
        let Some(engine) = self.0.iter().find(|engine| engine.finds) else {
            return Ok(Vec::new());
        };
        let findings = engine.run(case)?.after.map_or_else(Vec::new, |after| after.findings);
        Ok(findings
            .into_iter()
            .filter(|finding| finding.severity != Severity::Info)
            .map(|finding| finding.to_string())
            .collect())
    }

    /// Runs a case in every engine.
    ///
    /// # Errors
    /// If the module is refused, or a engine differs from the first one.
    pub fn compare(&self, case: &Case) -> Result<Agreement, Disagreement> {
        let (first, others) = self.0.split_first().ok_or_else(|| Disagreement::Refused("no engine".to_owned()))?;
        let mut expected = first.run(case)?;
        let timeout = FaultKind::Timeout.to_string();
        if expected.failure.as_ref() == Some(&timeout) {
            return Ok(Agreement::Unknown);
        }
        // Checked runs find the same.
        let mut findings: Option<Vec<Finding>> = None;
        for engine in others {
            let mut seen = engine.run(case)?;
            if seen.origin != expected.origin {
                // Another part of the process has taken the addresses meanwhile: both ways run again, one after the other.
                expected = first.run(case)?;
                seen = engine.run(case)?;
            }
            if seen.origin != expected.origin && expected.failure.is_some() {
                return Ok(Agreement::Unknown);
            }
            if engine.finds
                && let (Some(after), Some(before)) = (&mut seen.after, &expected.after)
            {
                let mut found = std::mem::replace(&mut after.findings, before.findings.clone());
                // Each device has other addresses; the places are told as well.
                found.iter_mut().for_each(|finding| finding.address = None);
                if findings.as_ref().is_some_and(|findings| *findings != found) {
                    let what = format!("findings {found:?} instead of {findings:?}");
                    return Err(Disagreement::Differs { engine: engine.name, what });
                }
                findings = Some(found);
            }
            // Only checked runs know of which variable an address is made: they alone fail at such an access, or with other words.
            if engine.finds && seen.failure.as_ref().is_some_and(|failure| failure.contains(OUTSIDE_OF_VARIABLE)) {
                continue;
            }
            if let Some(what) = difference(&seen, &expected) {
                return Err(Disagreement::Differs { engine: engine.name, what });
            }
        }
        Ok(if expected.failure.is_some() { Agreement::Failed } else { Agreement::Ended })
    }
}
