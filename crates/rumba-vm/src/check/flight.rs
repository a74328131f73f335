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
