//! Memory of asynchronous copies that are under way.

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
    /// The mbarrier that tracks it, if it is not one of a group.
    pub(crate) barrier: Option<u64>,
}
