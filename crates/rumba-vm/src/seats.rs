//! Launches that run at once. Each has a seat: workers with their blocks, and a part of the windows for parameters, shared
//! memory and stacks, to itself.
//!
//! A launch uses all cores, so the next one waits a moment for it to end. After that it runs beside it: kernels of two
//! streams may wait for each other. In which order launches begin is not decided here.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::launch::Worker;

/// How many launches run at once.
pub(crate) const SEATS: usize = 8;

/// How long a launch waits for those before it.
const PATIENCE: Duration = Duration::from_millis(10);

/// The seats of a device.
pub(crate) struct Seats {
    /// Since when each is taken.
    taken: Mutex<[Option<Instant>; SEATS]>,
    freed: Condvar,
    workers: Vec<Vec<Mutex<Worker>>>,
}

/// A launch's seat, free again when it is dropped.
pub(crate) struct Seat<'a> {
    seats: &'a Seats,
    pub(crate) number: usize,
}

impl Seats {
    /// Seats of `workers` workers each.
    pub(crate) fn new(workers: usize) -> Self {
        let workers = || (0..workers).map(|number| Mutex::new(Worker::new(number))).collect();
        Self {
            taken: Mutex::default(),
            freed: Condvar::new(),
            workers: (0..SEATS).map(|_| workers()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, [Option<Instant>; SEATS]> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat: at once if nobody has one, and otherwise after a while.
    pub(crate) fn take(&self) -> Seat<'_> {
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
                taken[number] = Some(Instant::now());
                return Seat { seats: self, number };
            }
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Seat<'_> {
    /// One of the workers that sit here.
    pub(crate) fn worker(&self, number: usize) -> MutexGuard<'_, Worker> {
        let worker = &self.seats.workers[self.number][number];
        worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.seats.lock()[self.number] = None;
        self.seats.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_waits_for_the_one_before_it_but_not_for_ever() {
        let seats = Seats::new(1);
        let start = Instant::now();
        let first = seats.take();
        let second = seats.take();
        assert!(start.elapsed() >= PATIENCE && second.number != first.number);
        drop((first, second));
        assert_eq!(seats.take().number, 0);
    }

    #[test]
    fn when_all_seats_are_taken_one_has_to_become_free() {
        let seats = Seats::new(1);
        let mut taken: Vec<_> = (0..SEATS).map(|_| seats.take()).collect();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| seats.take().number);
            let freed = taken.remove(3).number;
            assert_eq!(next.join().ok(), Some(freed));
        });
    }
}
