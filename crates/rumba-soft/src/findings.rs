//! The machine's findings, in the form that callers get.

use rumba_interface::check::{Finding, Location, Schedule, Side};

use crate::names;

fn location(location: &rumba_vm::Location) -> Location {
    Location {
        file: location.file.clone(),
        line: location.line,
        column: location.column,
        function: location.function.clone(),
    }
}

fn locations(all: &[rumba_vm::Location]) -> Vec<Location> {
    all.iter().map(location).collect()
}

/// An order of synchronising operations.
pub(crate) fn of_schedule(schedule: rumba_vm::Schedule) -> Schedule {
    let step = |step: rumba_vm::Step| Side {
        block: step.block,
        thread: step.thread,
        threads: step.threads,
        action: step.operation,
        locations: locations(&step.locations),
        ptx: step.ptx,
        ptx_line: step.ptx_line,
        excerpt: None,
    };
    Schedule { replay: schedule.replay, steps: schedule.steps.into_iter().map(step).collect() }
}

/// A finding of the machine in a launch that continued.
pub(crate) fn of_finding(found: &rumba_vm::Finding) -> Finding {
    let side = |side: &rumba_vm::Side| Side {
        block: side.block,
        thread: side.thread,
        threads: side.threads,
        action: match &side.launch {
            Some(launch) => format!("{} {}", side.what, launch.words(&names::readable(&launch.kernel))),
            None => side.what.clone(),
        },
        locations: locations(&side.locations),
        ptx: side.ptx.clone(),
        ptx_line: side.ptx_line,
        excerpt: None,
    };
    Finding {
        kind: found.kind,
        severity: found.severity,
        what: found.kind.name().to_owned(),
        why: found.kind.why().to_owned(),
        advice: found.kind.advice().to_owned(),
        kernel: found.kernel.as_deref().map(names::readable),
        sides: found.sides.iter().map(side).collect(),
        message: None,
        address: found.address,
        place: Some(found.place.clone()),
        count: found.count,
        seed: found.seed,
    }
}

/// The fault that ended a launch, as a finding.
pub(crate) fn of_fault(fault: &rumba_vm::Fault) -> Finding {
    let mut sides: Vec<Side> = fault
        .live
        .iter()
        .map(|live| Side {
            block: live.block,
            thread: live.thread,
            threads: 1,
            action: match live.count {
                1 => live.state.clone(),
                count => format!("{} ({count} threads)", live.state),
            },
            locations: live.location.iter().map(location).collect(),
            ptx: live.ptx.clone(),
            ptx_line: live.ptx_line,
            excerpt: None,
        })
        .collect();
    if sides.is_empty() {
        sides.push(Side {
            block: fault.block,
            thread: fault.thread,
            threads: 1,
            action: fault.access.as_ref().map(ToString::to_string).unwrap_or_default(),
            locations: locations(&fault.locations),
            ptx: fault.ptx.clone(),
            ptx_line: fault.ptx_line,
            excerpt: None,
        });
    }
    let kind = fault.kind.finding();
    Finding {
        kind,
        severity: kind.severity(),
        what: kind.name().to_owned(),
        why: kind.why().to_owned(),
        advice: kind.advice().to_owned(),
        kernel: Some(names::readable(&fault.kernel)),
        sides,
        message: fault.access.is_none().then(|| fault.message.clone()),
        address: fault.address,
        place: fault.place.clone(),
        count: 1,
        seed: fault.seed,
    }
}
