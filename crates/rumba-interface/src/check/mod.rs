//! The findings of checked runs, as values and as text.

mod finding;
mod report;

pub use finding::{Finding, Location, Side};
pub use rumba_checks::{Check, FindingKind, Severity, Tally, counted};

/// The options of a checked run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The checks that are on.
    pub checks: Vec<Check>,
    /// Chooses the order in which threads run. The same seed gives the same order.
    pub seed: u64,
    /// Whether the order is one of an exploration; the seed does not matter then.
    pub order: Option<Order>,
}

/// A summary of the data that the host has written to a device in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inputs {
    /// A hash of all of it.
    pub hash: u64,
    /// Whether the run has changed host memory from which some of it came: the same program would write something else when it
    /// runs again.
    pub are_changed: bool,
}

/// The order of a run's synchronizing operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The next one of an exploration of all orders.
    Next {
        /// Whether the exploration begins with it. All runs up to its end follow one another.
        is_first: bool,
        /// Orders at most.
        orders: u64,
        /// Synchronising operations of an order at most.
        steps: u64,
    },
    /// The one of [`Schedule::replay`].
    Replay {
        /// That text.
        schedule: String,
        /// Synchronising operations at most.
        steps: u64,
    },
}

/// An order that was run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// The text that reproduces the order: the choices that differ from the natural order.
    pub replay: String,
    /// Its synchronising operations, one after another.
    pub steps: Vec<Side>,
}

/// The result of an exploration after a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explored {
    /// The order of the run.
    pub schedule: Schedule,
    /// Whether the order was abandoned, because it is equivalent to another order or too long: its results mean
    /// nothing.
    pub is_left: bool,
    /// Whether there is another order to run.
    pub has_more: bool,
    /// Orders that were run to their end so far.
    pub orders: u64,
    /// Orders that were left because they turned out to be equivalent to others.
    pub redundant: u64,
    /// Why there may be further orders, even if none is left to run.
    pub limits: Vec<String>,
}
