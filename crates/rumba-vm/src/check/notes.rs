//! Mistakes of threads that are not about memory: noted when they happen, reported when the launch has ended.
//!
//! The callers decide what is a mistake. Several workers of a launch may note mistakes: the report shows the occurrence
//! in the first block, in whatever order the workers ran.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rumba_checks::FindingKind;

/// Threads of a warp that did the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) block: [u32; 3],
    pub(crate) warp: u32,
    /// The mask of the lanes, which is not empty.
    pub(crate) lanes: u32,
    /// The instruction.
    pub(crate) source: u32,
    pub(crate) what: &'static str,
}

/// The first mistake at an instruction, or at a pair of instructions, and the number of mistakes there.
pub(crate) struct Note {
    pub(crate) actor: Actor,
    pub(crate) other: Option<Actor>,
    pub(crate) detail: String,
    pub(crate) count: u64,
}

/// The mistakes noted in a launch.
#[derive(Default)]
pub(crate) struct Notes(Mutex<HashMap<(FindingKind, u32, u32), Note>>);

impl Notes {
    /// Notes a mistake of an actor, and the other actor involved, if any.
    #[cold]
    pub(crate) fn note(&self, kind: FindingKind, actor: Actor, other: Option<Actor>, detail: impl FnOnce() -> String) {
        let second = other.map_or(actor.source, |other| other.source);
        let key = (kind, actor.source.min(second), actor.source.max(second));
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = u64::from(actor.lanes.count_ones());
        let order = |actor: &Actor| {
            let [x, y, z] = actor.block;
            (z, y, x)
        };
        match notes.get_mut(&key) {
            Some(note) if order(&note.actor) <= order(&actor) => note.count += count,
            known => {
                let count = known.map_or(0, |note| note.count) + count;
                let detail = detail();
                notes.insert(key, Note { actor, other, detail, count });
            }
        }
    }

    /// Takes the mistakes noted so far.
    pub(crate) fn drain(&self) -> Vec<((FindingKind, u32, u32), Note)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}
