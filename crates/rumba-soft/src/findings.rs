//! What the machine found, as callers get it.

use rumba_interface::check::{Finding, Kind, Location, Severity, Side};
use rumba_vm::{FaultKind, FindingKind};

/// The machine's kinds; for those that end a kernel also why they are mistakes, and what to try.
macro_rules! kinds {
    (
        findings { $($finding:ident,)* }
        faults { $($fault:ident: $why:literal, $advice:literal;)* }
    ) => {
        fn kind_of_finding(kind: FindingKind) -> Kind {
            match kind { $(FindingKind::$finding => Kind::$finding,)* }
        }

        fn words_of_fault(kind: FaultKind) -> (Kind, &'static str, &'static str) {
            match kind { $(FaultKind::$fault => (Kind::$fault, $why, $advice),)* }
        }

        #[cfg(test)]
        const FINDINGS: &[FindingKind] = &[$(FindingKind::$finding,)*];
        #[cfg(test)]
        const FAULTS: &[FaultKind] = &[$(FaultKind::$fault,)*];
    };
}

kinds! {
    findings {
        DataRace,
        SameValueRace,
        ScopedRace,
        VolatileRace,
        PendingCopy,
        StaleLoad,
        UnwrittenRead,
        UnwrittenCopy,
        UnwrittenRegister,
        DivergentBarrier,
        ExitBeforeBarrier,
        RepeatedArrival,
        AbandonedBarrier,
        MaskMismatch,
        MaskWithoutCaller,
        ExitedLanes,
        ShuffleSource,
        MbarrierInUse,
        DivergentUniform,
        DivisionByZero,
        ShiftBeyondWidth,
    }
    faults {
        IllegalAddress:
            "the address lies in no live allocation that a kernel may use in this way",
            "compare the index with the length, also for the threads of the last block, of which there may be more than \
             elements";
        MisalignedAddress:
            "a GPU reads and writes 2, 4, 8 or 16 bytes only at multiples of as many",
            "index elements instead of bytes, and align what is accessed as a vector";
        StackOverflow:
            "calls are nested deeper than the stack of a thread has room for",
            "end the recursion earlier, or raise the limit of the stack";
        Synchronisation:
            "the threads that a barrier or a warp operation names are not those that come to it",
            "let all threads that it names reach the same call: move it out of the branch, or name only those that come";
        Deadlock:
            "all threads of the block wait, and none is left that could wake the others",
            "let every thread of the block reach every barrier, also those with nothing to do, and return only behind it";
        Timeout:
            "threads were still at work when the time was over",
            "look for a loop whose condition no thread fulfils";
        Assert:
            "the kernel itself says that this must not happen",
            "look at the condition, and at what the kernel was given";
        Trap:
            "the kernel gave up, as compiled code does where it panics",
            "look at the line";
        InvalidInstruction:
            "the instruction has no meaning with these operands",
            "look at the operands in the PTX";
    }
}

fn severity(severity: rumba_vm::Severity) -> Severity {
    match severity {
        rumba_vm::Severity::Info => Severity::Info,
        rumba_vm::Severity::Warning => Severity::Warning,
        rumba_vm::Severity::Error => Severity::Error,
    }
}

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

/// What the machine found in a launch that went on.
pub(crate) fn of_finding(found: &rumba_vm::Finding) -> Finding {
    let side = |side: &rumba_vm::Side| Side {
        block: side.block,
        thread: side.thread,
        threads: side.threads,
        action: side.what.clone(),
        locations: locations(&side.locations),
        ptx: side.ptx.clone(),
        ptx_line: side.ptx_line,
        excerpt: None,
    };
    Finding {
        kind: kind_of_finding(found.kind),
        severity: severity(found.severity),
        what: found.kind.name().to_owned(),
        why: found.kind.why().to_owned(),
        advice: found.kind.advice().to_owned(),
        kernel: found.kernel.clone(),
        sides: found.sides.iter().map(side).collect(),
        message: None,
        address: found.address,
        place: Some(found.place.clone()),
        count: found.count,
        seed: found.seed,
    }
}

/// What ended a launch.
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
    let (kind, why, advice) = words_of_fault(fault.kind);
    Finding {
        kind,
        severity: Severity::Error,
        what: fault.kind.name().to_owned(),
        why: why.to_owned(),
        advice: advice.to_owned(),
        kernel: Some(fault.kernel.clone()),
        sides,
        message: fault.access.is_none().then(|| fault.message.clone()),
        address: fault.address,
        place: fault.place.clone(),
        count: 1,
        seed: fault.seed,
    }
}

#[cfg(test)]
mod tests {
    use super::{FAULTS, FINDINGS, words_of_fault};

    /// Sentences go on behind a colon, so they begin small (but for PTX) and end without a full stop.
    #[test]
    fn sentences_are_of_one_form() {
        let findings = FINDINGS.iter().map(|kind| [kind.name(), kind.why(), kind.advice()]);
        let faults = FAULTS.iter().map(|kind| {
            let (_, why, advice) = words_of_fault(*kind);
            [kind.name(), why, advice]
        });
        for text in findings.chain(faults).flatten() {
            let begins_small = text.starts_with(|c: char| !c.is_uppercase()) || text.starts_with("PTX ");
            assert!(begins_small, "{text}");
            assert!(!text.ends_with('.') && !text.contains("  "), "{text}");
        }
    }
}
