//! Memory of `cp.async` that is under way: it is accessed in the generic proxy, and the thread itself waits. Other asynchronous
//! operations are told of in [`crate::check::agent`].

use std::ops::Range;

use crate::check::notes::Actor;

/// A copy that was begun.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) actor: Actor,
    pub(crate) lane: usize,
    /// Host addresses.
    pub(crate) to: Range<u64>,
    pub(crate) from: Range<u64>,
}

/// The copies of a block that are under way.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    all: Vec<Flight>,
    /// Their number, where native code finds it.
    pub(crate) count: u64,
}

impl Flights {
    pub(crate) fn all(&self) -> &[Flight] {
        &self.all
    }

    pub(crate) fn push(&mut self, flight: Flight) {
        self.all.push(flight);
        self.count = self.all.len() as u64;
    }

    pub(crate) fn retain(&mut self, is_under_way: impl Fn(&Flight) -> bool) {
        self.all.retain(is_under_way);
        self.count = self.all.len() as u64;
    }
}
