//! The operations that a warp may execute before it asks for more, and those that it has executed.

/// The cost of a failed wait for another thread, in operations of the turn: a thread that polls soon yields its turn to
/// others.
pub(crate) const POLL_COST: i32 = 256;

/// The fuel of a warp.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Fuel {
    /// The number of operations that may be executed before the scheduler is called.
    pub(crate) left: i32,
    /// The value of `left` when it was last filled up.
    granted: i32,
    /// The operations of the warp's turn that have not been granted and executed.
    budget: i32,
    /// Fuel that was taken for polling.
    pub(crate) polled: u64,
    /// Operations executed in the block, up to the last count.
    counted: u64,
}

impl Fuel {
    /// Begins a turn of `budget` operations.
    pub(crate) fn begin(&mut self, budget: i32) {
        self.budget = budget;
    }

    /// Begins a turn of `budget` operations, all of them granted at once.
    pub(crate) fn grant_all(&mut self, budget: i32) {
        self.counted += (self.granted - self.left) as u64;
        (self.budget, self.granted, self.left) = (budget, budget, budget);
    }

    /// Whether the turn is over.
    pub(crate) fn is_turn_over(&self) -> bool {
        self.budget <= 0
    }

    /// Takes the executed operations from the turn.
    pub(crate) fn settle(&mut self) {
        let spent = self.granted - self.left;
        self.counted += spent as u64;
        self.budget = self.budget.saturating_sub(spent);
        (self.granted, self.left) = (0, 0);
    }

    /// Grants the rest of the turn, but at most `limit` operations.
    pub(crate) fn refill(&mut self, limit: i32) {
        self.settle();
        self.granted = self.budget.clamp(1, limit);
        self.left = self.granted;
    }

    /// The operations that the warp has executed in its block.
    pub(crate) fn executed(&self) -> u64 {
        (self.counted + (i64::from(self.granted) - i64::from(self.left)) as u64).saturating_sub(self.polled)
    }

    /// Takes the cost of a failed wait.
    #[inline(always)]
    pub(crate) fn poll(&mut self) {
        self.left -= POLL_COST;
        self.polled += POLL_COST as u64;
    }

    /// Ends the turn at the end of the block of operations.
    pub(crate) fn rest(&mut self) {
        let left = self.left.max(0) + 1;
        self.polled += left as u64;
        self.left -= left;
        self.budget = 0;
    }
}
