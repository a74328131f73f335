//! Checked runs from within a program: launches on a device of their own, under the checks that the run asks for, and what
//! they found as values.
//!
//! The software device makes the runs; here are only its answers as values.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rumba_interface::{Bytes, Sink, Wire, gather};

pub use rumba_interface::check::{
    Check, Explored, Finding, FindingKind, Inputs, Location, Options, Order, Schedule, Severity, Side, Tally, counted,
};

use crate::choice;

/// Why there can be no checked run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The process uses NVIDIA's driver.
    #[error(
        "checks are made by the software device, and this process uses a GPU: set RUMBA_DEVICE=soft, or make the checked \
         run before anything else uses a device"
    )]
    Gpu,
    /// There is no device at all.
    #[error("{0}")]
    NoDevice(String),
    /// The thread makes checked runs already.
    #[error(
        "a check within the closure of another check would wait for it for ever: call `rumba::check` or `Checks` after the \
         other check has returned"
    )]
    Nested,
}

/// Data that the host has read from a device's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The kernel that was launched before.
    kernel: Option<String>,
    /// Its first bytes.
    bytes: Vec<u8>,
}

/// The results of a checked run.
pub struct Ended {
    /// The findings, in the order in which they were made.
    pub findings: Vec<Finding>,
    /// The data that the host has read.
    pub copies: Vec<Copied>,
    /// The result of the exploration so far, if the run belongs to one.
    pub explored: Option<Explored>,
    /// A hash of the data that the host has written.
    pub inputs: Inputs,
}

thread_local! {
    /// Whether the thread has the turn.
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// The turn of a caller to make checked runs: those of a check, or of an exploration, whose orders follow one another. One caller of
/// a process has it at a time.
pub struct Turn(#[expect(dead_code, reason = "held until the turn is over")] MutexGuard<'static, ()>);

impl Turn {
    /// Waits until no other thread has the turn.
    ///
    /// # Errors
    /// If this thread has it already.
    pub fn wait() -> Result<Self, RunError> {
        static TURN: Mutex<()> = Mutex::new(());
        if HAS_TURN.get() {
            return Err(RunError::Nested);
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        HAS_TURN.set(true);
        Ok(Self(turn))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        HAS_TURN.set(false);
    }
}

/// A checked run, from [`Run::begin`] to [`Run::end`].
pub struct Run<'a> {
    device: i32,
    soft: &'static rumba_interface::Device,
    _turn: &'a mut Turn,
}

impl<'a> Run<'a> {
    /// Opens a run. A process that has not used a device yet gets the software device, whatever `RUMBA_DEVICE` says, unless
    /// that is `gpu`.
    ///
    /// # Errors
    /// If the process uses a GPU, or the software device cannot be made.
    pub fn begin(turn: &'a mut Turn, options: &Options) -> Result<Self, RunError> {
        let chosen = choice::prefer_software();
        let soft = match &chosen.driver {
            Ok(choice::Driver::Software(soft)) => *soft,
            Ok(choice::Driver::Nvidia(_)) => return Err(RunError::Gpu),
            Err(error) => return Err(RunError::NoDevice(error.to_string())),
        };
        let options = options.to_bytes();
        let mut device = -1;
        let reason = gather(|reason| device = (soft.open_run)(Bytes::new(&options), reason));
        match reason.first() {
            Some(reason) => Err(RunError::NoDevice(String::from_utf8_lossy(reason).into_owned())),
            None => Ok(Self { device, soft, _turn: turn }),
        }
    }

    /// The ordinal of the device whose launches are checked. It is not counted among the devices.
    pub fn device(&self) -> i32 {
        self.device
    }

    /// Closes the run and returns its results.
    ///
    /// # Panics
    /// If the device words a finding in a way that its interface does not have.
    pub fn end(self) -> Ended {
        let (mut copies, mut explored, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
        let findings = gather(|findings| {
            let [copies, explored, inputs] = [&mut copies, &mut explored, &mut inputs].map(Sink::new);
            (self.soft.results)(findings, copies, explored, inputs);
        });
        let explored = explored
            .first()
            .map(|bytes| Wire::from_bytes(bytes).expect("device and program have the same version of orders"));
        let inputs = inputs
            .first()
            .map(|bytes| Wire::from_bytes(bytes).expect("device and program have the same version of inputs"))
            .unwrap_or_default();
        let findings = findings
            .iter()
            .map(|bytes| Wire::from_bytes(bytes).expect("device and program have the same version of findings"));
        let copies = copies.chunks_exact(2).map(|pair| Copied {
            kernel: Some(String::from_utf8_lossy(&pair[0]).into_owned()).filter(|name| !name.is_empty()),
            bytes: pair[1].clone(),
        });
        Ended { findings: findings.collect(), copies: copies.collect(), explored, inputs }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        (self.soft.close_run)();
    }
}

thread_local! {
    static ORIGIN: Cell<Option<&'static std::panic::Location<'static>>> = const { Cell::new(None) };
}

/// Says which line of the program allocates, for as long as `work` runs: reports name it beside the memory.
pub fn allocating<T>(at: &'static std::panic::Location<'static>, work: impl FnOnce() -> T) -> T {
    let before = ORIGIN.replace(Some(at));
    let result = work();
    ORIGIN.set(before);
    result
}

/// Tells the device which source line allocates in this thread, if the line is known.
pub(crate) extern "C" fn origin(line: Sink<'_>) {
    // The thread-local variable is gone when the thread is ending: no line is known then.
    if let Ok(Some(at)) = ORIGIN.try_with(Cell::get) {
        line.put(format!("{}:{}:{}", at.file(), at.line(), at.column()).as_bytes());
    }
}

/// Compares the data that the host has read in two runs of a program. Returns a finding if the data differ.
pub fn compare(first: &[Copied], other: &[Copied], seed: u64) -> Option<Finding> {
    let (index, (one, two)) = first.iter().zip(other).enumerate().find(|(_, (one, two))| one != two)?;
    let byte = one.bytes.iter().zip(&two.bytes).position(|(one, two)| one != two);
    Some(Finding::of_schedules(one.kernel.clone(), index, byte, seed))
}
