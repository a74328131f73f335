//! The detector of races of launches that are checked together.

use std::cell::UnsafeCell;

use crate::check::race::Races;
use crate::check::turns::{Turn, Turns};

/// A detector that several launches use in turns.
pub(crate) struct JointRaces {
    pub(crate) turns: Turns,
    races: UnsafeCell<Races>,
}

// SAFETY: a thread uses `races` in its turn alone, and the turns of threads follow each other.
unsafe impl Sync for JointRaces {}

impl JointRaces {
    pub(crate) fn new(races: Races) -> Self {
        Self { turns: Turns::default(), races: UnsafeCell::new(races) }
    }

    /// Uses the detector in a turn.
    pub(crate) fn with<T>(&self, _: &mut Turn<'_>, look: impl FnOnce(&mut Races) -> T) -> T {
        // SAFETY: the caller has the turn, and `look` gets no turn with which it could call this function again.
        look(unsafe { &mut *self.races.get() })
    }

    /// The detector, for a thread that has the turn.
    pub(super) fn get(&self) -> *mut Races {
        self.races.get()
    }

    pub(crate) fn into_races(self) -> Races {
        self.races.into_inner()
    }
}
