//! The state that the workers of a launch share: what they have executed, which block has failed first, and why all have to stop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::machine::context::Context;
use crate::machine::fault::{Fault, LiveThreads};
use crate::run::alive::SignsOfLife;
use crate::run::faults;

/// How long other blocks go on after a block has failed: one that comes before it may fail, too, and is then reported
/// instead, so that reports do not depend on the workers' speed.
const GRACE: Duration = Duration::from_secs(2);

/// The state that the workers of a launch share.
pub(crate) struct Progress {
    executed: AtomicU64,
    /// Blocks from this one on need not be run: an earlier one has failed.
    end: AtomicU64,
    first: Mutex<Option<(u64, Fault)>>,
    /// When the first block failed, in milliseconds since the launch was begun.
    failed_at: AtomicU64,
    /// Why all workers have to stop.
    stop: OnceLock<String>,
    alive: SignsOfLife,
    /// The threads that were running then.
    live: Mutex<Vec<LiveThreads>>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            executed: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            first: Mutex::new(None),
            failed_at: AtomicU64::new(u64::MAX),
            stop: OnceLock::new(),
            alive: SignsOfLife::default(),
            live: Mutex::new(Vec::new()),
        }
    }

    /// Operations executed by all workers.
    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// The fault of the first block that had one; otherwise that the launch had to be stopped.
    pub(crate) fn fault(&self, context: &Context<'_>) -> Option<Fault> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let message = self.stop.get().cloned();
        first.map(|(_, fault)| fault).or_else(|| {
            let live = std::mem::take(&mut *self.live.lock().unwrap_or_else(PoisonError::into_inner));
            message.map(|message| faults::stopped(context, message, LiveThreads::summary(live)))
        })
    }

    pub(super) fn fail(&self, context: &Context<'_>, index: u64, fault: Fault) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| index < *known) {
            *first = Some((index, fault));
        }
        self.end.fetch_min(index, Ordering::AcqRel);
        let now = context.started.elapsed().as_millis() as u64;
        self.failed_at.fetch_min(now, Ordering::AcqRel);
    }

    /// Whether a block need not run any more: an earlier one has failed.
    pub(super) fn is_needless(&self, index: u64) -> bool {
        index >= self.end.load(Ordering::Acquire)
    }

    /// Notes the threads of a block that were running when the launch was stopped.
    pub(super) fn was_live(&self, live: Vec<LiveThreads>) {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).extend(live);
    }

    /// Stops the launch.
    pub(crate) fn halt(&self, message: &str) {
        // The first worker's reason is kept.
        let _ = self.stop.set(message.to_owned());
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.stop.get().is_some()
    }

    /// Whether a block has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Notes the fault of a block, unless another block has failed before.
    pub(crate) fn first_fault(&self, index: u64, fault: Fault) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert((index, fault));
    }

    /// Whether a block failed so long ago that others can no longer be expected to end: they may be waiting for it.
    pub(super) fn is_over(&self, context: &Context<'_>) -> bool {
        let failed_at = self.failed_at.load(Ordering::Acquire);
        failed_at != u64::MAX && context.started.elapsed() > Duration::from_millis(failed_at) + GRACE
    }
}

/// The reason to end the launch, if it has one.
pub(crate) fn exhausted(context: &Context<'_>, executed: u64) -> Option<String> {
    if executed > context.instruction_limit {
        let most = context.instruction_limit;
        return Some(format!("the launch executed {executed} instructions, and at most {most} are allowed"));
    }
    let limit = context.time_limit?;
    (context.started.elapsed() > limit).then(|| {
        format!(
            "the launch did not end within {} seconds; threads may be waiting for something that never happens",
            limit.as_secs_f64()
        )
    })
}

/// The work of a worker since it last reported to the other workers.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) operations: u64,
    pub(crate) blocks: u64,
}

impl Done {
    /// Counts a block that has ended.
    pub(super) fn block(&mut self, context: &Context<'_>) {
        self.blocks += 1;
        if let Some(beat) = context.beat {
            beat.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reports to the other workers, and stops all workers if the launch has to end.
    pub(crate) fn tell(&mut self, context: &Context<'_>, progress: &Progress) {
        let Self { operations, blocks } = std::mem::take(self);
        let total = progress.executed.fetch_add(operations, Ordering::Relaxed) + operations;
        if let Some(tier_up) = &context.tier_up {
            tier_up.add(operations);
        }
        if blocks > 0 {
            context.grid_barrier.finish(blocks);
        }
        progress.alive.tell(context, blocks);
        if let Some(message) = exhausted(context, total) {
            progress.halt(&message);
        }
    }
}
