//! Exploration of the orders of synchronizing operations: one launch for each class of equivalent orders.
//!
//! A kernel's behavior depends only on the order in which its threads synchronize: without data races, a thread reads
//! values that were written before by threads that have synchronized with it (manual, section 8), and each order is
//! checked for races by happens-before while it runs. So only synchronizing operations are points of choice: arrivals
//! at counted barriers, operations on mbarriers, copies that mbarriers track, atomic, volatile and ordered accesses.
//! Other operations run between two such points in any order. This is the argument of Flanagan and Godefroid (Dynamic
//! partial-order reduction for model checking software, POPL 2005); [`tree`] has the algorithm, [`event`] the table of
//! commuting operations, [`past`] the happens-before order.
//!
//! Barriers at which all threads of a block, a cluster or a grid wait are no points of choice: arrivals at them
//! commute. The unit that runs is a warp, or a split of a diverged warp. A wait that fails, returns to the same place
//! with the same values and has changed nothing is undone: its lanes wait until the memory that they read has changed
//! (the spin-assume of GenMC; Kokologiannakis and Vafeiadis, CAV 2021).
//!
//! An exploration does not cover reads of values other than the last one written (memory is sequentially consistent
//! here; races that would show other values are found), the order of the lanes of one operation, and concurrent
//! launches of several streams, which run one after another.

pub(crate) mod event;
pub(crate) mod past;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::report::Location;
use crate::explore::tree::Tree;

/// How far an exploration goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExplorationBound {
    /// Orders at most.
    pub orders: u64,
    /// Synchronising operations of one order at most.
    pub steps: usize,
}

impl Default for ExplorationBound {
    fn default() -> Self {
        Self { orders: 10_000, steps: 10_000 }
    }
}

/// A synchronising operation of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The block.
    pub block: [u32; 3],
    /// The first thread that executed it; of a copy, the block that it goes to.
    pub thread: [u32; 3],
    /// How many threads of the warp executed it at once; 0 for a copy.
    pub threads: u32,
    /// The instruction, or the arrival of a copy, in words.
    pub operation: String,
    /// Where in the source, the innermost inlined function first. Empty if the PTX has no line information.
    pub locations: Vec<Location>,
    /// The name of the PTX.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
}

/// An order that was run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// The text that reproduces the order: the choices that differ from the natural order.
    pub replay: String,
    /// The synchronizing operations of the order.
    pub steps: Vec<Step>,
}

/// The result of an exploration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplorationReport {
    /// Orders that were run to their end, none of them equivalent to another.
    pub orders: u64,
    /// Orders that were begun, and left when they turned out to be equivalent to others.
    pub redundant: u64,
    /// Reasons why there may be further orders; empty if all orders were run.
    pub limits: Vec<String>,
}

/// The error for a text that is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a schedule: it is a list such as `4:1,9:0`, of operations and who executes them, or `natural`")]
pub struct ScheduleError(String);

/// The state of all orders and of the present order.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) tree: Tree,
    bound: ExplorationBound,
    orders: u64,
    redundant: u64,
    limits: Vec<String>,
    /// The present order: its operations, its launches, its copies, and whether it was abandoned.
    pub(crate) steps: Vec<Step>,
    pub(crate) launches: u32,
    pub(crate) copies: u32,
    pub(crate) is_left: bool,
}

impl State {
    /// Adds a reason why there may be further orders.
    pub(crate) fn limit(&mut self, reason: String) {
        if !self.limits.contains(&reason) {
            self.limits.push(reason);
        }
    }

    /// Whether the order has reached the bound on its operations.
    pub(crate) fn is_too_long(&self) -> bool {
        self.tree.events().len() >= self.bound.steps
    }

    /// The bound on the operations of one order.
    pub(crate) fn most_steps(&self) -> usize {
        self.bound.steps
    }
}

/// An exploration of the orders of a program, which is run once for each: [`begin`](Self::begin), the program on a device that
/// [`Device::exploring`](crate::Device::exploring) made, [`end`](Self::end).
#[derive(Debug, Clone, Default)]
pub struct Exploration(Arc<Mutex<State>>);

impl PartialEq for Exploration {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Exploration {}

impl Exploration {
    /// An exploration that runs one order of each class of equivalent orders.
    #[must_use]
    pub fn new(bound: ExplorationBound) -> Self {
        Self::of(Tree::default(), bound)
    }

    /// An exploration that runs all orders, also equivalent ones, for comparison.
    #[must_use]
    pub fn plain(bound: ExplorationBound) -> Self {
        Self::of(Tree::plain(true), bound)
    }

    /// An exploration that runs the one order of [`Schedule::replay`].
    ///
    /// # Errors
    /// If the text is no schedule.
    pub fn replaying(schedule: &str, bound: ExplorationBound) -> Result<Self, ScheduleError> {
        Ok(Self::of(Tree::given(choices(schedule)?), bound))
    }

    fn of(tree: Tree, bound: ExplorationBound) -> Self {
        Self(Arc::new(Mutex::new(State { tree, bound, ..State::default() })))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reason why there may be further orders.
    pub(crate) fn limit(&self, reason: String) {
        self.state().limit(reason);
    }

    /// Whether the present order was abandoned, because it is equivalent to another order, or too long. Its results
    /// mean nothing.
    pub fn is_left(&self) -> bool {
        self.state().is_left
    }

    /// Forgets all orders: the next one is the first.
    pub fn restart(&self) {
        let mut state = self.state();
        let tree = state.tree.anew();
        *state = State { tree, bound: state.bound, ..State::default() };
    }

    /// Begins the next order.
    pub fn begin(&self) {
        let mut state = self.state();
        state.tree.begin();
        state.steps.clear();
        (state.launches, state.copies, state.is_left) = (0, 0, false);
    }

    /// The present order, as far as it was run.
    pub fn schedule(&self) -> Schedule {
        let state = self.state();
        Schedule { replay: text(state.tree.made()), steps: state.steps.clone() }
    }

    /// Ends the order. Returns whether another order remains to be run.
    pub fn end(&self) -> bool {
        let mut state = self.state();
        if state.is_left {
            state.redundant += 1;
        } else {
            state.orders += 1;
        }
        let more = state.tree.advance();
        let ExplorationBound { orders, .. } = state.bound;
        if more && (state.orders >= orders || state.redundant >= orders.saturating_mul(REDUNDANT)) {
            state.limit(format!("stopped after the bound of {orders} orders"));
            return false;
        }
        more
    }

    /// The result of the exploration so far.
    pub fn report(&self) -> ExplorationReport {
        let state = self.state();
        ExplorationReport { orders: state.orders, redundant: state.redundant, limits: state.limits.clone() }
    }
}

/// The bound on redundant orders (those that turn out to be equivalent to others), per order of the bound.
const REDUNDANT: u64 = 10;

/// The text that reproduces the natural order.
const NATURAL: &str = "natural";

fn text(choices: &BTreeMap<usize, usize>) -> String {
    let mut text = String::new();
    for (step, choice) in choices {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{step}:{choice}");
    }
    if text.is_empty() { NATURAL.to_owned() } else { text }
}

fn choices(text: &str) -> Result<BTreeMap<usize, usize>, ScheduleError> {
    let wrong = || ScheduleError(text.to_owned());
    if text.trim() == NATURAL {
        return Ok(BTreeMap::new());
    }
    let pair = |pair: &str| {
        let (step, choice) = pair.trim().split_once(':').ok_or_else(wrong)?;
        Ok((step.parse().map_err(|_| wrong())?, choice.parse().map_err(|_| wrong())?))
    };
    text.split(',').map(pair).collect()
}

impl fmt::Display for Step {
    /// `warp of thread (32, 0, 0) of block (0, 0, 0): mbarrier.arrive at src/lib.rs:7`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [bx, by, bz]) = (self.thread, self.block);
        match self.threads {
            0 => write!(f, "block ({bx}, {by}, {bz}): {}", self.operation)?,
            1 => write!(f, "thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz}): {}", self.operation)?,
            many => {
                let operation = &self.operation;
                write!(f, "{many} threads from ({x}, {y}, {z}) of block ({bx}, {by}, {bz}): {operation}")?;
            }
        }
        match self.locations.first() {
            Some(Location { file, line, .. }) => write!(f, " at {file}:{line}"),
            None => write!(f, " at {}:{}", self.ptx, self.ptx_line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{choices, text};

    #[test]
    fn schedules_are_text() {
        for schedule in ["natural", "4:1", "0:2,17:0"] {
            assert_eq!(text(&choices(schedule).unwrap()), schedule);
        }
        for wrong in ["", "4", "4:", "x:1", "1:1;2:2"] {
            assert!(choices(wrong).is_err(), "{wrong}");
        }
    }
}
