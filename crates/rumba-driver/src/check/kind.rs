//! The kinds of mistakes: those that let a kernel go on, which the machine words, those that end it, and panics.

use std::fmt;

use rumba_vm::{FaultKind, FindingKind};
use serde::Serialize;

/// The machine's kinds, each with the check that it belongs to; for those that end a kernel also why they are mistakes, and
/// what to try.
macro_rules! kinds {
    (
        findings { $($finding:ident: $finding_check:ident,)* }
        faults { $($fault:ident: $fault_check:ident, $why:literal, $advice:literal;)* }
    ) => {
        /// What kind of mistake a kernel made.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "`what` and `why` say it")]
        pub enum Kind {
            $($finding,)*
            $($fault,)*
            Panic,
            ScheduleDependent,
        }

        impl From<FindingKind> for Kind {
            fn from(kind: FindingKind) -> Self {
                match kind { $(FindingKind::$finding => Self::$finding,)* }
            }
        }

        impl From<FaultKind> for Kind {
            fn from(kind: FaultKind) -> Self {
                match kind { $(FaultKind::$fault => Self::$fault,)* }
            }
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$finding,)* $(Self::$fault,)* Self::Panic, Self::ScheduleDependent];

            /// The check that finds it.
            pub fn check(self) -> Check {
                match self {
                    $(Self::$finding => Check::$finding_check,)*
                    $(Self::$fault => Check::$fault_check,)*
                    Self::Panic => Check::Panic,
                    Self::ScheduleDependent => Check::Portability,
                }
            }

            /// What it is, in a few words.
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$finding => FindingKind::$finding.name(),)*
                    $(Self::$fault => FaultKind::$fault.name(),)*
                    Self::Panic => "panic",
                    Self::ScheduleDependent => "result that depends on the order of threads",
                }
            }

            /// Why it is a mistake, in a sentence.
            pub fn why(self) -> &'static str {
                match self {
                    $(Self::$finding => FindingKind::$finding.why(),)*
                    $(Self::$fault => $why,)*
                    Self::Panic => {
                        "an index, an arithmetic operation or an assertion of the kernel failed, and the thread ended there"
                    }
                    Self::ScheduleDependent => {
                        "blocks, warps and lanes run in any order, and in another one the host reads something else"
                    }
                }
            }

            /// What to try.
            pub fn advice(self) -> &'static str {
                match self {
                    $(Self::$finding => FindingKind::$finding.advice(),)*
                    $(Self::$fault => $advice,)*
                    Self::Panic => "look at what the message names, on the line that it names",
                    Self::ScheduleDependent => {
                        "look where the kernel uses how far others are: places by atomic operations, `activemask`, volatile \
                         accesses of a warp"
                    }
                }
            }
        }
    };
}

kinds! {
    findings {
        DataRace: Race,
        SameValueRace: Race,
        ScopedRace: Race,
        VolatileRace: Race,
        PendingCopy: Race,
        StaleLoad: Race,
        UnwrittenRead: Init,
        UnwrittenCopy: Init,
        UnwrittenRegister: Init,
        DivergentBarrier: Sync,
        ExitBeforeBarrier: Sync,
        RepeatedArrival: Sync,
        AbandonedBarrier: Sync,
        MaskMismatch: Sync,
        MaskWithoutCaller: Sync,
        ExitedLanes: Sync,
        ShuffleSource: Sync,
        MbarrierInUse: Sync,
        DivergentUniform: Sync,
        DivisionByZero: Arith,
        ShiftBeyondWidth: Arith,
    }
    faults {
        IllegalAddress: Mem,
            "the address lies in no live allocation that a kernel may use in this way",
            "compare the index with the length, also for the threads of the last block, of which there may be more than \
             elements";
        MisalignedAddress: Mem,
            "a GPU reads and writes 2, 4, 8 or 16 bytes only at multiples of as many",
            "index elements instead of bytes, and align what is accessed as a vector";
        StackOverflow: Mem,
            "calls are nested deeper than the stack of a thread has room for",
            "end the recursion earlier, or raise the limit of the stack";
        Synchronisation: Sync,
            "the threads that a barrier or a warp operation names are not those that come to it",
            "let all threads that it names reach the same call: move it out of the branch, or name only those that come";
        Deadlock: Sync,
            "all threads of the block wait, and none is left that could wake the others",
            "let every thread of the block reach every barrier, also those with nothing to do, and return only behind it";
        Timeout: Sync,
            "threads were still at work when the time was over",
            "look for a loop that waits for what nobody does";
        Assert: Panic,
            "the kernel itself says that this must not happen",
            "look at the condition, and at what the kernel was given";
        Trap: Panic,
            "the kernel gave up, as compiled code does where it panics",
            "look at the line";
        InvalidInstruction: Panic,
            "the instruction has no meaning with these operands",
            "look at the operands in the PTX";
    }
}

impl Kind {
    /// Its short name, as reports have it: `data-race`.
    pub fn id(self) -> String {
        let mut id = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !id.is_empty() {
                id.push('-');
            }
            id.push(letter.to_ascii_lowercase());
        }
        id
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what())
    }
}

/// The checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum Check {
    /// Bounds, alignment and lifetime of every access.
    Mem,
    /// Memory that nobody has written.
    Init,
    /// Data races.
    Race,
    /// Barriers and warp operations.
    Sync,
    /// Integer divisions by zero, and shifts beyond the width.
    Arith,
    /// What the kernel itself refuses: panics, assertions, traps. It is always on.
    Panic,
    /// Results that depend on the order of threads: runs in several orders are compared.
    Portability,
}

impl Check {
    /// All checks.
    pub const ALL: &[Self] = &[
        Self::Mem,
        Self::Init,
        Self::Race,
        Self::Sync,
        Self::Arith,
        Self::Panic,
        Self::Portability,
    ];
}

#[cfg(test)]
mod tests {
    use super::Kind;

    /// Sentences go on behind a colon, so they begin small (but for PTX) and end without a full stop.
    #[test]
    fn sentences_are_of_one_form() {
        for (index, kind) in Kind::ALL.iter().enumerate() {
            for text in [kind.what(), kind.why(), kind.advice()] {
                let begins_small = text.starts_with(|c: char| !c.is_uppercase()) || text.starts_with("PTX ");
                assert!(begins_small, "{kind}: {text}");
                assert!(!text.ends_with('.') && !text.contains("  "), "{kind}: {text}");
            }
            assert!(Kind::ALL[..index].iter().all(|other| other.id() != kind.id()));
        }
        assert_eq!(Kind::MisalignedAddress.id(), "misaligned-address");
    }
}
