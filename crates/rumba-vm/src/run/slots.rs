//! Launches that run at once. Each has a slot: workers with their blocks, and a part of the windows for parameters, shared
//! memory and stacks, to itself.
//!
//! A launch uses all cores, so the next one waits a moment for it to end. After that it runs beside it: kernels of two
//! streams may wait for each other. In which order launches begin is not decided here.

use crate::mem::arena::LAUNCH_SLOTS;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::run::worker::Worker;

/// How long a launch waits for those before it.
const PATIENCE: Duration = Duration::from_millis(10);

/// The launch slots of a device.
pub(crate) struct LaunchSlots {
    /// Since when each is taken.
    taken: Mutex<[Option<Instant>; LAUNCH_SLOTS]>,
    freed: Condvar,
    workers: Vec<Vec<Mutex<Worker>>>,
}

/// A launch's slot, free again when it is dropped.
pub(crate) struct LaunchSlot<'a> {
    slots: &'a LaunchSlots,
    pub(crate) number: usize,
    /// Whether no other launch was running when the slot was taken.
    pub(crate) is_alone: bool,
}

impl LaunchSlots {
    /// LaunchSlots of `workers` workers each.
    pub(crate) fn new(workers: usize) -> Self {
        let workers = || (0..workers).map(|number| Mutex::new(Worker::new(number))).collect();
        Self { taken: Mutex::default(), freed: Condvar::new(), workers: (0..LAUNCH_SLOTS).map(|_| workers()).collect() }
    }

    fn lock(&self) -> MutexGuard<'_, [Option<Instant>; LAUNCH_SLOTS]> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot: at once if no launch has one, and otherwise after a while.
    pub(crate) fn take(&self) -> LaunchSlot<'_> {
        let mut taken = self.lock();
        loop {
            let youngest = taken.iter().flatten().max();
            let rest = youngest.map_or(Duration::ZERO, |since| PATIENCE.saturating_sub(since.elapsed()));
            if !rest.is_zero() {
                let waited = self.freed.wait_timeout(taken, rest);
                taken = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if let Some(number) = taken.iter().position(Option::is_none) {
                let is_alone = taken.iter().all(Option::is_none);
                taken[number] = Some(Instant::now());
                return LaunchSlot { slots: self, number, is_alone };
            }
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl LaunchSlot<'_> {
    /// One of the slot's workers.
    pub(crate) fn worker(&self, number: usize) -> MutexGuard<'_, Worker> {
        let worker = &self.slots.workers[self.number][number];
        worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LaunchSlot<'_> {
    fn drop(&mut self) {
        self.slots.lock()[self.number] = None;
        self.slots.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_waits_for_the_one_before_it_but_not_for_ever() {
        let slots = LaunchSlots::new(1);
        let start = Instant::now();
        let first = slots.take();
        let second = slots.take();
        assert!(start.elapsed() >= PATIENCE && second.number != first.number);
        assert!(first.is_alone && !second.is_alone);
        drop((first, second));
        assert_eq!(slots.take().number, 0);
    }

    #[test]
    fn when_all_slots_are_taken_one_has_to_become_free() {
        let slots = LaunchSlots::new(1);
        let mut taken: Vec<_> = (0..LAUNCH_SLOTS).map(|_| slots.take()).collect();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| slots.take().number);
            let freed = taken.remove(3).number;
            assert_eq!(next.join().ok(), Some(freed));
        });
    }
}
