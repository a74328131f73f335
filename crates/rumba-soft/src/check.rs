//! The checked run that is open: what it has found, and what the host has read in it.
//!
//! It has a device of its own, with its own contexts, so that a fault there harms no other device of the process, and that
//! device is there only while the run is open. How findings are found is the machine's business; what `RUMBA_CHECK` asks
//! for is `soft::checks`'.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rumba_interface::check::{Explored, Finding, Inputs, Options};

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
    written: Written,
}

/// What the host has written to a device's memory.
#[derive(Default)]
struct Written {
    hasher: DefaultHasher,
    /// The places in the host's memory that it came from: first and last address.
    places: BTreeMap<usize, usize>,
    /// Whether the host has read something back to such a place, so that the same program would not write the same again.
    is_changed: bool,
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

/// What the run has found, in the order in which it was found, what the host has read, and what it has written.
pub(crate) fn results() -> (Vec<Finding>, Vec<Copied>, Inputs) {
    open().take().map_or_else(Default::default, |open| {
        let inputs = Inputs { hash: open.written.hasher.finish(), are_changed: open.written.is_changed };
        (open.findings, open.copies, inputs)
    })
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

/// Notes what the host has written. Each run has a device of its own, so words that are addresses of one, as `is_address` says, count
/// as the same.
pub(crate) fn written(bytes: &[u8], is_address: impl Fn(u64) -> bool) {
    if let Some(Open { written, .. }) = &mut *open() {
        bytes.len().hash(&mut written.hasher);
        let (words, rest) = bytes.as_chunks();
        for word in words.iter().map(|word| u64::from_ne_bytes(*word)) {
            (!is_address(word)).then_some(word).hash(&mut written.hasher);
        }
        rest.hash(&mut written.hasher);
        let places = bytes.as_ptr_range();
        let end = written.places.entry(places.start.addr()).or_default();
        *end = places.end.addr().max(*end);
    }
}

/// Notes what the host has read.
pub(crate) fn copied(bytes: &[u8]) {
    if let Some(open) = &mut *open() {
        let places = bytes.as_ptr_range();
        let before = open.written.places.range(..places.end.addr());
        open.written.is_changed |= before.into_iter().any(|(_, end)| *end > places.start.addr());
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
