//! What checked runs find, as values and as text.

mod finding;
mod report;

use serde::{Deserialize, Serialize};

pub use finding::{Finding, Location, Side};
pub use rumba_checks::{Check, FindingKind, Severity};

/// What is checked in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The checks that are on.
    pub checks: Vec<Check>,
    /// Chooses the order in which threads run. The same seed gives the same order.
    pub seed: u64,
}
