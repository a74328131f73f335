//! The open checked run: its findings, and the data that the host has read and written during the run.
//!
//! The run has a device of its own, with its own contexts, so that a fault there harms no other device of the process.
//! The device exists only while the run is open. The machine makes the checks; `soft::checks` reads `RUMBA_CHECK`.

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

/// The data that the host has written to a device's memory.
#[derive(Default)]
struct Written {
    hasher: DefaultHasher,
    /// The ranges of the host's memory that the data came from: first and last address.
    places: BTreeMap<usize, usize>,
    /// Whether the host has read results back into such a range, so that a second run of the program would write other
    /// data.
    is_changed: bool,
}

/// Data that the host has read from a device's memory.
pub(crate) struct Copied {
    /// The kernel that was launched before.
    pub(crate) kernel: Option<String>,
    /// Its first bytes.
    pub(crate) bytes: Vec<u8>,
}

/// The number of bytes of a copy to the host that are kept for comparison with another run.
const KEPT: usize = 1 << 20;

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

fn open() -> MutexGuard<'static, Option<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a run, and gives the ordinal of its device, which is not counted among the devices. The caller ensures that at
/// most one run is open at a time.
pub(crate) fn begin(options: &Options) -> Result<i32, Error> {
    let driver = Driver::init()?;
    driver.machine.open_checked(options)?;
    *open() = Some(Open::default());
    Ok(driver.checked_device())
}

/// The findings of the run, in the order in which they were made, the data that the host has read, and a hash of the
/// data that it has written.
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

/// Merges findings: mistakes of instructions on the same lines become one finding.
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

/// Notes data that the host has written. Each run has a device of its own, so addresses differ between runs: all words
/// that are addresses of a device, by `is_address`, count as equal.
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

/// Notes data that the host has read.
pub(crate) fn copied(bytes: &[u8]) {
    if let Some(open) = &mut *open() {
        let places = bytes.as_ptr_range();
        let before = open.written.places.range(..places.end.addr());
        open.written.is_changed |= before.into_iter().any(|(_, end)| *end > places.start.addr());
        let (kernel, bytes) = (open.kernel.clone(), bytes[..bytes.len().min(KEPT)].to_vec());
        open.copies.push(Copied { kernel, bytes });
    }
}

/// Adds findings to the open run.
pub(crate) fn add(found: Vec<Finding>) {
    if let Some(open) = &mut *open() {
        open.findings.extend(found);
    }
}
