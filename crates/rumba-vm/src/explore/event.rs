//! Events of an order, and which of them do not commute.
//!
//! | object | operations that commute | the others |
//! |---|---|---|
//! | memory | two reads; two reductions of one kind without a result | do not |
//! | mbarrier, in one phase | arrivals, bytes that come, looks at the phase | initialisation, invalidation |
//! | barrier of a block, in one phase | arrivals for the same number of threads | arrivals for another number |
//!
//! Operations in different phases of a barrier do not commute. A look that is not ordered before any arrival of its phase could also
//! come after the phase, and a thread that makes the phase wait for more bytes could come too late: [`Role::is_overtaken`] says so
//! of the arrival that ends the phase. Whether an operation changed memory is known when it was executed: a compare-and-swap
//! that fails is a read.

use std::sync::Arc;

use crate::explore::past::Past;

/// A process of an exploration: a split of a warp, or a copy under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Process {
    /// Lanes of a warp.
    Lanes {
        /// The number of the launch in the run.
        launch: u32,
        /// The number of the block.
        block: u32,
        warp: u32,
        mask: u32,
    },
    /// A copy, by its number in the run.
    Copy { number: u32 },
}

impl Process {
    /// Whether the first lane of another process is one of this, or it is the same copy.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        match (*self, *other) {
            (
                Self::Lanes { launch, block, warp, mask },
                Self::Lanes { launch: of_launch, block: of_block, warp: of_warp, mask: lanes },
            ) => (launch, block, warp) == (of_launch, of_block, of_warp) && mask >> lanes.trailing_zeros() & 1 != 0,
            (Self::Copy { number }, Self::Copy { number: other }) => number == other,
            _ => false,
        }
    }
}

/// The object of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Object {
    /// Bytes of memory, by their host address.
    Memory { address: u64, bytes: u64 },
    /// An mbarrier, by its host address.
    Mbarrier(u64),
    /// A barrier of a block.
    Barrier { block: u32, id: u32 },
}

impl Object {
    /// The cell of an object. Each object has one cell, and objects that overlap have the same cell.
    pub(crate) fn cell(&self) -> (u8, u64) {
        match *self {
            Self::Memory { address, .. } => (0, address / 16),
            Self::Mbarrier(address) => (1, address),
            Self::Barrier { block, id } => (2, u64::from(block) << 8 | u64::from(id)),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::Memory { address, bytes }, Self::Memory { address: start, bytes: length }) => {
                address < start + length && start < address + bytes
            }
            _ => self == other,
        }
    }
}

/// The effect of an operation on a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It arrives, or brings bytes.
    Arrives,
    /// It makes the phase wait for more bytes.
    Expects,
    /// It looks at the phase.
    Looks,
}

impl Role {
    /// Whether it matters that the phase ends before.
    pub(crate) fn is_overtaken(self) -> bool {
        matches!(self, Self::Expects | Self::Looks)
    }
}

/// The effect of an operation on its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    Writes,
    /// Combines the value in memory with an operand, by an operation of this number that commutes with itself, without
    /// a result.
    Combines(u8),
    /// It belongs to a phase.
    Phase {
        role: Role,
        /// The phase, if the operation was executed.
        phase: u32,
        /// How many arrivals it counts for.
        count: u32,
        /// How many arrivals the barrier is for, where the operation says so.
        expected: u32,
    },
    /// It concerns all of the object: it is initialised, or misused.
    All,
}

/// An object of an operation, and the effect on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) object: Object,
    pub(crate) effect: Effect,
}

/// The rest of a phase after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    /// Arrivals that are missing.
    pub(crate) arrivals: u32,
    /// Whether the operation ended the phase.
    pub(crate) ended: bool,
}

impl Access {
    /// Whether two executed operations, in any order, do not commute.
    pub(crate) fn depends(&self, other: &Self) -> bool {
        self.object.overlaps(&other.object)
            && match (self.effect, other.effect) {
                (Effect::Reads, Effect::Reads) => false,
                (Effect::Combines(one), Effect::Combines(two)) => one != two,
                (Effect::Phase { phase, expected, .. }, Effect::Phase { phase: of, expected: by, .. }) => {
                    phase != of || expected != by
                }
                _ => true,
            }
    }

    /// Whether this operation, which was just executed, does not commute with one that is still to come.
    pub(crate) fn disturbs(&self, left: Left, next: &Self) -> bool {
        self.object.overlaps(&next.object)
            && match (self.effect, next.effect) {
                (Effect::Phase { role, expected, .. }, Effect::Phase { role: other, count, expected: by, .. }) => {
                    left.ended
                        || expected != by
                        || match (role, other) {
                            (_, Role::Expects) | (Role::Expects, _) => true,
                            (_, Role::Looks) => false,
                            (Role::Looks, Role::Arrives) => count >= left.arrivals,
                            (Role::Arrives, Role::Arrives) => count > left.arrivals,
                        }
                }
                _ => self.depends(next),
            }
    }
}

/// An executed operation.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) process: Process,
    pub(crate) accesses: Vec<(Access, Left)>,
    /// The events that come before it in every order that is equivalent to this one.
    pub(crate) past: Arc<Past>,
    /// A number for it and its past.
    pub(crate) hash: u64,
}

#[cfg(test)]
mod tests {
    use super::{Access, Effect, Left, Object, Process, Role};

    fn memory(address: u64, effect: Effect) -> Access {
        let object = Object::Memory { address, bytes: 4 };
        Access { object, effect }
    }

    fn phase(role: Role, phase: u32, count: u32) -> Access {
        let effect = Effect::Phase { role, phase, count, expected: 0 };
        Access { object: Object::Mbarrier(64), effect }
    }

    #[test]
    fn reads_commute_and_so_do_sums() {
        let read = memory(8, Effect::Reads);
        let write = memory(8, Effect::Writes);
        assert!(!read.depends(&read) && read.depends(&write) && write.depends(&write));
        assert!(!write.depends(&memory(12, Effect::Writes)));
        let [add, or] = [1, 2].map(|kind| memory(8, Effect::Combines(kind)));
        assert!(!add.depends(&add) && add.depends(&or) && add.depends(&read));
    }

    #[test]
    fn arrivals_commute_within_a_phase() {
        let [one, two] = [1, 2].map(|number| phase(Role::Arrives, number, 1));
        assert!(!one.depends(&one) && one.depends(&two));
        let left = |arrivals, ended| Left { arrivals, ended };
        assert!(!one.disturbs(left(1, false), &one));
        assert!(one.disturbs(left(2, true), &one));
        assert!(one.disturbs(left(1, false), &phase(Role::Arrives, 1, 2)));
        let look = phase(Role::Looks, 1, 0);
        assert!(look.disturbs(left(1, false), &one) && !look.disturbs(left(2, false), &one));
        assert!(!one.disturbs(left(1, false), &look));
    }

    #[test]
    fn a_process_is_found_by_its_first_lane() {
        let lanes = |mask| Process::Lanes { launch: 0, block: 1, warp: 2, mask };
        assert!(lanes(0b110).holds(&lanes(0b100)) && !lanes(0b110).holds(&lanes(0b1)));
        assert!(!lanes(1).holds(&Process::Copy { number: 0 }));
    }
}
