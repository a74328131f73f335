//! The device's side of the table of C functions; what each is for stands in `rumba-interface`.

use std::ffi::c_void;
use std::sync::OnceLock;

use rumba_interface::check::Options;
use rumba_interface::log::{self, Level};
use rumba_interface::{Bytes, Device, RELEASE, Settings, Sink, VERSION, Wire, gather};

use rumba_vm::limits::Multiprocessor;

use crate::code::Code;
use crate::soft::driver::Driver;
use crate::soft::report;
use crate::{check, targets};

/// A number over the sources that the device is built from.
pub(crate) const SOURCES: &str = env!("RUMBA_SOFT_SOURCES");

/// The table.
pub const fn device() -> Device {
    Device {
        version: VERSION,
        size: size_of::<Device>() as u32,
        release: Bytes::new(RELEASE.as_bytes()),
        sources: Bytes::new(SOURCES.as_bytes()),
        start,
        call,
        last_report,
        open_run,
        results,
        close_run,
        lose_context,
        objects,
    }
}

/// The settings that the program passed to the device.
struct Process {
    devices: usize,
    multiprocessor: Multiprocessor,
    origin: extern "C" fn(line: Sink<'_>),
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// How many devices there are.
pub(crate) fn devices() -> usize {
    PROCESS.get().map_or(1, |process| process.devices)
}

/// The generation that they are of.
pub(crate) fn multiprocessor() -> Multiprocessor {
    PROCESS.get().map_or(Multiprocessor::DEFAULT, |process| process.multiprocessor)
}

/// The line of the program that allocates in this thread, as far as it is known.
pub(crate) fn origin() -> Option<String> {
    let ask = PROCESS.get()?.origin;
    let line = gather(|line| ask(line)).pop()?;
    String::from_utf8(line).ok()
}

extern "C" fn start(settings: &Settings) {
    log::set(Level::from_number(settings.log));
    PROCESS.get_or_init(|| Process {
        devices: settings.devices as usize,
        multiprocessor: Multiprocessor::of(settings.capability).unwrap_or(Multiprocessor::DEFAULT),
        origin: settings.origin,
    });
}

extern "C" fn call(name: Bytes<'_>) -> *mut c_void {
    targets::address(name.get())
}

extern "C" fn last_report(sink: Sink<'_>) {
    if let Some(report) = report::last() {
        sink.put(report.as_bytes());
    }
}

extern "C" fn open_run(options: Bytes<'_>, reason: Sink<'_>) -> i32 {
    let opened = Options::from_bytes(options.get())
        .ok_or_else(|| "the program's options of a checked run have another version than the device".to_owned())
        .and_then(|options| check::begin(&options).map_err(|error| error.to_string()));
    opened.unwrap_or_else(|error| {
        reason.put(error.as_bytes());
        -1
    })
}

extern "C" fn results(findings: Sink<'_>, copies: Sink<'_>, explored: Sink<'_>, inputs: Sink<'_>) {
    if let Some(order) = check::end_order() {
        explored.put(&order.to_bytes());
    }
    let (found, copied, written) = check::results();
    inputs.put(&written.to_bytes());
    for finding in &found {
        findings.put(&finding.to_bytes());
    }
    for copy in copied {
        copies.put(copy.kernel.unwrap_or_default().as_bytes());
        copies.put(&copy.bytes);
    }
}

extern "C" fn close_run() {
    check::end();
}

extern "C" fn lose_context(code: i32) {
    if let (Ok((_, context)), Some(code)) = (Driver::current(), Code::of(code)) {
        context.lose(code);
    }
}

extern "C" fn objects(counts: Sink<'_>) {
    if let Ok(driver) = Driver::get() {
        for (kind, count) in driver.objects() {
            counts.put(format!("{kind}={count}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_programs_can_ask_for_there_is() {
        let all = rumba_vm::limits::Multiprocessor::ALL.map(|generation| generation.capability);
        assert_eq!(all, rumba_interface::CAPABILITIES);
        assert_eq!(rumba_vm::limits::Multiprocessor::DEFAULT.capability, rumba_interface::DEFAULT_CAPABILITY);
    }
}
