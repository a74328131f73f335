//! A lock whose turns go round: launches that are checked together take turns, and in its turn one of them alone executes
//! operations and reports them. So no thread sees an effect in memory before the detector was told of the operation behind it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The numbers of turns: those that were asked for, and those that have ended.
#[derive(Debug, Default)]
struct Numbers {
    asked: u64,
    ended: u64,
}

/// The lock.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    numbers: Mutex<Numbers>,
    ended: Condvar,
    /// The launches under way.
    launches: AtomicUsize,
}

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turns that were asked for before, and begins one.
    pub(crate) fn take(&self) -> Turn<'_> {
        let mut numbers = self.lock();
        let mine = numbers.asked;
        numbers.asked += 1;
        while numbers.ended != mine {
            numbers = self.ended.wait(numbers).unwrap_or_else(PoisonError::into_inner);
        }
        Turn(self)
    }

    /// Notes that a launch begins or ends.
    pub(crate) fn begin_launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_launch(&self) {
        self.launches.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether more than one launch takes turns now.
    pub(crate) fn are_shared(&self) -> bool {
        self.launches.load(Ordering::Relaxed) > 1
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut numbers = self.0.lock();
        numbers.ended += 1;
        let is_awaited = numbers.asked > numbers.ended;
        drop(numbers);
        if is_awaited {
            self.0.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;
    use std::sync::Mutex;

    #[test]
    fn who_waits_comes_before_who_asks_again() {
        let (turns, order) = (Turns::default(), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            let first = turns.take();
            let waiting = |count: u64| {
                while turns.lock().asked < count {
                    std::thread::yield_now();
                }
            };
            for name in 1..4 {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.take();
                    order.lock().unwrap().push(name);
                });
                waiting(name + 1);
            }
            drop(first);
            let _again = turns.take();
            order.lock().unwrap().push(0);
        });
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 0]);
    }
}
