//! The resources that modules use and that outlive them: settings, memory, threads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::config::Config;
use crate::base::pool::ThreadPool;
use crate::explore::Exploration;
use crate::mem::allocations::Allocations;
use crate::mem::arena::Arena;

/// The resources that a device shares with its modules.
pub(crate) struct Resources {
    pub(crate) config: Config,
    /// The exploration that the launches belong to.
    pub(crate) exploration: Option<Exploration>,
    pub(crate) allocations: Allocations,
    pub(crate) pool: ThreadPool,
    /// Number of the next function that has an address.
    pub(crate) handles: AtomicU64,
    /// Unmapped last.
    pub(crate) arena: Arena,
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resources").finish_non_exhaustive()
    }
}

impl Resources {
    /// The address of another function.
    pub(crate) fn next_handle(&self) -> u64 {
        let window = self.arena.functions;
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        // After a million functions, addresses repeat; by then the first modules are long gone.
        window.start + number * 16 % window.bytes() as u64
    }
}
