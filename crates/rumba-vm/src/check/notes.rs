//! Mistakes of threads that are not about memory: noted where they are made, told when the launch has ended.
//!
//! Which mistakes there are is decided by those who note them. A launch may note from several workers: what is told is
//! the occurrence in the first block, whoever came first.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::check::finding::{Finding, FindingKind, Side};
use crate::launch::Context;
use crate::warp::Warp;

/// Threads of a warp that did the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) block: [u32; 3],
    pub(crate) warp: u32,
    /// Which lanes; not empty.
    pub(crate) lanes: u32,
    /// The instruction.
    pub(crate) source: u32,
    pub(crate) what: &'static str,
}

/// The first of the mistakes at an instruction, or at two, and how many there are.
struct Note {
    actor: Actor,
    other: Option<Actor>,
    detail: String,
    count: u64,
}

/// What was noted in a launch.
#[derive(Default)]
pub(crate) struct Notes(Mutex<HashMap<(FindingKind, u32, u32), Note>>);

impl Notes {
    /// Notes a mistake, and what it collides with if there is that.
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
                notes.insert(
                    key,
                    Note {
                        actor,
                        other,
                        detail,
                        count,
                    },
                );
            }
        }
    }

    /// What was found, in the order of the program.
    pub(crate) fn findings(&self, context: &Context<'_>) -> Vec<Finding> {
        let notes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut notes: Vec<_> = notes.into_iter().collect();
        notes.sort_by_key(|(key, _)| *key);
        let debug = &context.program.debug;
        let side = |actor: Actor| {
            let (ptx, ptx_line) = debug.ptx(actor.source);
            Side {
                block: actor.block,
                thread: context.thread(actor.warp, actor.lanes.trailing_zeros() & 31),
                threads: actor.lanes.count_ones(),
                what: actor.what.to_owned(),
                access: None,
                locations: debug.locations(actor.source),
                ptx,
                ptx_line,
            }
        };
        let findings = notes.into_iter().map(|((kind, ..), note)| Finding {
            kind,
            severity: kind.severity(),
            kernel: Some(context.program.name.clone()),
            sides: std::iter::once(note.actor).chain(note.other).map(side).collect(),
            address: None,
            place: note.detail,
            count: note.count,
            seed: context.seed,
        });
        findings.collect()
    }
}

impl Warp {
    /// Lanes that do something at an instruction.
    pub(crate) fn actor(&self, source: u32, lanes: u32, what: &'static str) -> Actor {
        // SAFETY: the block outlives its warps' turns, and its coordinates do not change meanwhile.
        let block = unsafe { (*self.block).coordinates };
        Actor {
            block,
            warp: self.index,
            lanes,
            source,
            what,
        }
    }

    /// Notes a mistake of lanes at an instruction.
    #[cold]
    pub(crate) fn note(&self, kind: FindingKind, actor: Actor, other: Option<Actor>, detail: impl FnOnce() -> String) {
        if let Some(notes) = self.context().notes {
            notes.note(kind, actor, other, detail);
        }
    }
}
