//! The kinds of mistakes: those that let a kernel go on, those that end it, panics, and results of chance.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kinds, each with the check that it belongs to.
macro_rules! kinds {
    ($($kind:ident: $check:ident,)*) => {
        /// What kind of mistake a kernel made.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "`what` and `why` of a finding say it")]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The check that finds it.
            pub fn check(self) -> Check {
                match self {
                    $(Self::$kind => Check::$check,)*
                }
            }
        }
    };
}

kinds! {
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
    IllegalAddress: Mem,
    MisalignedAddress: Mem,
    StackOverflow: Mem,
    Synchronisation: Sync,
    Deadlock: Sync,
    Timeout: Sync,
    Assert: Panic,
    Trap: Panic,
    InvalidInstruction: Panic,
    Panic: Panic,
    ScheduleDependent: Portability,
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
        f.write_str(&self.id())
    }
}

/// The checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Check {
    /// Bounds, alignment and lifetime of every access.
    Mem,
    /// Memory that was never written.
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

    #[test]
    fn kinds_have_names_of_their_own() {
        for (index, kind) in Kind::ALL.iter().enumerate() {
            assert!(Kind::ALL[..index].iter().all(|other| other.id() != kind.id()));
        }
        assert_eq!(Kind::MisalignedAddress.id(), "misaligned-address");
    }
}
