//! The checked run that is open: what it has found, and what the host has read in it.
//!
//! It has a device of its own, with its own contexts, so that a fault there harms no other device of the process, and that
//! device is there only while the run is open. How findings are found is the machine's business; what `RUMBA_CHECK` asks
//! for is `soft::checks`'.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rumba_interface::check::{Explored, Finding, Options};

use crate::error::Error;
use crate::soft::driver::Driver;

pub(crate) use crate::table::origin;

/// A run that is open.
#[derive(Default)]
struct Open {
    findings: Vec<Finding>,
    copies: Vec<Copied>,
    /// The kernel that was launched last.
    kernel: Option<String>,
}

/// What the host has read of a device's memory.
pub(crate) struct Copied {
    /// The kernel that was launched before.
    pub(crate) kernel: Option<String>,
    /// Its first bytes.
    pub(crate) bytes: Vec<u8>,
}

/// Bytes of a copy to the host that are kept, to compare them with those of another run.
const KEPT: usize = 1 << 20;

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

fn open() -> MutexGuard<'static, Option<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a run, and gives the ordinal of its device, which is not counted among the devices. There is one run at a time,
/// for which the caller answers.
pub(crate) fn begin(options: &Options) -> Result<i32, Error> {
    let driver = Driver::init()?;
    driver.machine.open_checked(options)?;
    *open() = Some(Open::default());
    Ok(driver.checked_device())
}

/// What the run has found, in the order in which it was found, and what the host has read.
pub(crate) fn results() -> (Vec<Finding>, Vec<Copied>) {
    open()
        .take()
        .map_or_else(Default::default, |open| (open.findings, open.copies))
}

/// Ends the order of the run, if it is one of an exploration.
pub(crate) fn end_order() -> Option<Explored> {
    Driver::get().ok()?.machine.end_order()
}

/// Closes the run.
pub(crate) fn end() {
    open().take();
    if let Ok(driver) = Driver::get() {
        driver.machine.close_checked();
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

/// Whether a run is open.
pub(crate) fn is_open() -> bool {
    open().is_some()
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
