//! Exclusive use of a device's memory by compared launches: no other work uses the memory meanwhile, since the changes
//! of the first run are undone before the second run.
//!
//! Copies, allocations and other launches wait for a compared launch. A kernel may itself wait for one of them, or for the host: then
//! its first run does not end. If no block ends within [`PATIENCE`], the others go on, and the launch is not compared. A second run
//! ends as the first one did, so all wait for it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time within which a block of the first run has to end, so that other users continue to wait.
const PATIENCE: Duration = Duration::from_secs(2);

/// The progress of a compared launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// In its first run.
    First,
    /// In its first run, with other users of the memory: the launch will not be compared.
    Joined,
    /// Its first run has ended, and other users wait.
    Held,
}

#[derive(Debug, Default)]
struct State {
    /// The number of current uses of the memory, other than the compared launch.
    others: usize,
    compared: Option<Phase>,
}

/// The uses of the memory of a device.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    state: Mutex<State>,
    changed: Condvar,
    beat: AtomicU64,
}

/// A compared launch, until it is dropped.
#[derive(Debug)]
pub(crate) struct Alone<'a>(&'a Apart);

/// Any other use of the memory, until it is dropped.
#[derive(Debug)]
pub struct Beside<'a>(&'a Apart);

impl Apart {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counter of the blocks that have ended.
    pub(crate) fn beat(&self) -> &AtomicU64 {
        &self.beat
    }

    /// Begins a launch that is to be compared, unless other users continue to use the memory.
    pub(crate) fn compare(&self) -> Option<Alone<'_>> {
        let is_free = |state: &State| state.others == 0 && state.compared.is_none();
        let mut state = self.wait_until(is_free);
        is_free(&state).then(|| {
            state.compared = Some(Phase::First);
            Alone(self)
        })
    }

    /// Begins any other use, when no compared launch has the memory to itself.
    pub(crate) fn join(&self) -> Beside<'_> {
        let mut state = self.wait_until(|state| matches!(state.compared, None | Some(Phase::Joined)));
        if state.compared.is_some() {
            state.compared = Some(Phase::Joined);
        }
        state.others += 1;
        Beside(self)
    }

    /// Waits for a condition as long as a compared launch makes progress; the condition may still not hold afterwards.
    fn wait_until(&self, holds: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        let mut seen = self.beat.load(Ordering::Relaxed);
        while !holds(&state) {
            let waited = self.changed.wait_timeout_while(state, PATIENCE, |state| !holds(state));
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = now;
            let gets_on = std::mem::replace(&mut seen, self.beat.load(Ordering::Relaxed)) != seen;
            if timeout.timed_out() && !gets_on && state.compared != Some(Phase::Held) {
                break;
            }
        }
        state
    }
}

impl Alone<'_> {
    /// The first run begins: waiting users restart their timeout, as after the end of a block.
    pub(crate) fn beat(&self) {
        self.0.beat.fetch_add(1, Ordering::Relaxed);
    }

    /// Refuses all further users of the memory, now that the first run has ended; `false` if there is a user.
    pub(crate) fn hold(&self) -> bool {
        let mut state = self.0.lock();
        let is_alone = state.compared == Some(Phase::First);
        if is_alone {
            state.compared = Some(Phase::Held);
        }
        is_alone
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.lock().compared = None;
        self.0.changed.notify_all();
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        self.0.lock().others -= 1;
        self.0.changed.notify_all();
    }
}

/// Whether the host, which may write to memory that kernels see, waits for a launch to end. A launch that the host does not wait for is
/// not compared.
#[derive(Debug, Default)]
pub struct HostWaits(AtomicU8);

const WAITS: u8 = 0;
const GOES_ON: u8 = 1;
const HELD: u8 = 2;

impl HostWaits {
    /// The time within which a block has to end, so that the host continues to wait.
    pub const PATIENCE: Duration = PATIENCE;

    /// The host does not wait for the launch.
    pub fn no() -> Self {
        Self(AtomicU8::new(GOES_ON))
    }

    /// The host wants to continue before the launch has ended; `false` if the launch is being compared and will end
    /// soon.
    pub fn go_on(&self) -> bool {
        self.change(GOES_ON)
    }

    /// Holds the host: the launch is being prepared, or its second run follows. `false` if the host has continued.
    pub(crate) fn hold(&self) -> bool {
        self.change(HELD)
    }

    /// Lets the host continue again if it wants to: the run that begins may wait for the host.
    pub(crate) fn release(&self) {
        // The exchange fails if the host has already continued, and leaves its state unchanged.
        let _ = self.0.compare_exchange(HELD, WAITS, Ordering::AcqRel, Ordering::Acquire);
    }

    fn change(&self, to: u8) -> bool {
        let changed = self.0.compare_exchange(WAITS, to, Ordering::AcqRel, Ordering::Acquire);
        changed.map_or_else(|known| known == to, |_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::{Apart, HostWaits};

    #[test]
    fn others_wait_for_the_second_run_and_not_for_a_first_one_that_does_not_end() {
        let apart = Apart::default();
        let alone = apart.compare().expect("the memory has no other user");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drop(apart.join()));
            // The first run ends before the other run reaches its threshold.
            assert!(alone.hold());
            assert!(!other.is_finished());
            drop(alone);
        });
        let alone = apart.compare().expect("the other one is done");
        // The first run waits for the other.
        let beside = apart.join();
        assert!(!alone.hold());
        drop(alone);
        assert!(apart.compare().is_none(), "the other one goes on");
        drop(beside);
        assert!(apart.compare().is_some());
    }

    #[test]
    fn the_host_goes_on_or_the_launch_is_compared() {
        let waits = HostWaits::default();
        assert!(waits.hold() && !waits.go_on() && waits.hold());
        waits.release();
        assert!(waits.go_on() && !waits.hold() && waits.go_on());
        assert!(!HostWaits::no().hold());
    }
}
