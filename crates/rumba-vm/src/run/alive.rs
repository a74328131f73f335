//! When a launch that takes long tells of itself.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::machine::context::Context;
use crate::machine::running::Running;

/// The factor by which the time to the next report grows.
const GROWTH: u32 = 3;

/// The progress reports of a launch so far.
#[derive(Default)]
pub(crate) struct SignsOfLife {
    ended: AtomicU64,
    /// How often it has told.
    told: AtomicU64,
    /// The device's count of prints at the last report.
    printed: AtomicU64,
}

impl SignsOfLife {
    /// Adds blocks that have ended, and tells of the launch if it is time and the kernel has printed nothing meanwhile, which is a
    /// sign of life, too.
    pub(crate) fn tell(&self, context: &Context<'_>, blocks: u64) {
        let ended = self.ended.fetch_add(blocks, Ordering::Relaxed) + blocks;
        let Some(long) = context.long_launches else { return };
        let told = self.told.load(Ordering::Relaxed);
        let elapsed = context.started.elapsed();
        let after = GROWTH.checked_pow(told as u32).and_then(|times| long.after.checked_mul(times));
        let is_time = after.is_some_and(|after| elapsed >= after);
        let is_own = || self.told.compare_exchange(told, told + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_time || !is_own() {
            return;
        }
        let printed = context.output.printed();
        if self.printed.swap(printed, Ordering::Relaxed).max(context.printed) < printed {
            return;
        }
        (long.tell)(&Running {
            kernel: &context.program.name,
            blocks: context.blocks(),
            ended,
            elapsed,
            time_limit: context.time_limit,
        });
    }
}
