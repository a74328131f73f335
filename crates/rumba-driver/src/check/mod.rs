//! Checked runs from within a program: launches on a device of their own, under the checks that the run asks for, and what
//! they found as values.
//!
//! The device has its own contexts, so that a fault in a checked run harms nobody else in the process, and is there only
//! while a run is open. How findings are found is the machine's business; what `RUMBA_CHECK` asks for is `soft::checks`'.

mod finding;
mod kind;
mod report;

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use finding::{Finding, Location, Severity, Side};
pub use kind::{Check, Kind};

use crate::choice::{self, DeviceKind};
use crate::soft::driver::Driver;

/// What is checked in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The checks that are on.
    pub checks: Vec<Check>,
    /// Chooses the order in which threads run. The same seed gives the same order.
    pub seed: u64,
}

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
}

/// A run that is open.
struct Open {
    findings: Vec<Finding>,
    copies: Vec<Copied>,
    /// The kernel that was launched last.
    kernel: Option<String>,
}

/// What the host has read of a device's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The kernel that was launched before.
    kernel: Option<String>,
    /// Its first bytes.
    bytes: Vec<u8>,
}

/// Bytes of a copy to the host that are kept, to compare them with those of another run.
const KEPT: usize = 1 << 20;

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

fn open() -> MutexGuard<'static, Option<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A checked run, from [`Run::begin`] to [`Run::end`]. There is one at a time in a process; others wait.
pub struct Run {
    device: i32,
    _turn: MutexGuard<'static, ()>,
}

impl Run {
    /// Opens a run. A process that has not used a device yet gets the software device, whatever `RUMBA_DEVICE` says, unless
    /// that is `gpu`.
    ///
    /// # Errors
    /// If the process uses a GPU, or the software device cannot be made.
    pub fn begin(options: Options) -> Result<Self, RunError> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        match &choice::prefer_software().kind {
            Ok(DeviceKind::Software) => {}
            Ok(DeviceKind::Nvidia) => return Err(RunError::Gpu),
            Err(error) => return Err(RunError::NoDevice(error.to_string())),
        }
        let driver = Driver::init().map_err(|error| RunError::NoDevice(error.to_string()))?;
        let made = driver.machine.open_checked(&options);
        made.map_err(|error| RunError::NoDevice(error.to_string()))?;
        *open() = Some(Open {
            findings: Vec::new(),
            copies: Vec::new(),
            kernel: None,
        });
        let device = driver.checked_device();
        Ok(Self { device, _turn: turn })
    }

    /// The ordinal of the device whose launches are checked. It is not counted among the devices.
    pub fn device(&self) -> i32 {
        self.device
    }

    /// Closes the run and gives what was found, in the order in which it was found, and what the host has read.
    pub fn end(self) -> (Vec<Finding>, Vec<Copied>) {
        open()
            .take()
            .map_or_else(Default::default, |open| (open.findings, open.copies))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        open().take();
        if let Ok(driver) = Driver::get() {
            driver.machine.close_checked();
        }
    }
}

/// Findings without repetitions: what instructions of the same lines did is one.
pub(crate) fn merge(found: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for finding in found {
        let key = finding.key();
        match merged.iter_mut().find(|other| other.key() == key) {
            Some(other) => other.count += finding.count,
            None => merged.push(finding),
        }
    }
    merged
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

/// The line that allocates, as far as it is known.
pub(crate) fn origin() -> Option<String> {
    let at = ORIGIN.get()?;
    Some(format!("{}:{}:{}", at.file(), at.line(), at.column()))
}

/// Whether a run is open.
pub(crate) fn is_open() -> bool {
    open().is_some()
}

/// Compares what the host has read in two runs of a program: the finding that it is not the same.
pub fn compare(first: &[Copied], other: &[Copied], seed: u64) -> Option<Finding> {
    let (index, (one, two)) = first.iter().zip(other).enumerate().find(|(_, (one, two))| one != two)?;
    let byte = one.bytes.iter().zip(&two.bytes).position(|(one, two)| one != two);
    Some(Finding::of_schedules(one.kernel.clone(), index, byte, seed))
}

/// Notes a launch.
pub(crate) fn launched(kernel: &str) {
    if let Some(open) = &mut *open() {
        open.kernel = Some(kernel.to_owned());
    }
}

/// Notes what the host has read.
pub(crate) fn copied(bytes: &[u8]) {
    if let Some(open) = &mut *open() {
        let (kernel, bytes) = (open.kernel.clone(), bytes[..bytes.len().min(KEPT)].to_vec());
        open.copies.push(Copied { kernel, bytes });
    }
}

/// Adds to what the open run has found.
pub(crate) fn add(found: Vec<Finding>) {
    if let Some(open) = &mut *open() {
        open.findings.extend(found);
    }
}
