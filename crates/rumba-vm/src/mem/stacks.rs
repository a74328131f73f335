//! The window for stacks, divided among the running launches: each launch gets a part as large as its threads can use.
//! This module does not know the contents of stacks.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::mem::arena::{STEP, Window};

/// The window of stacks, and the parts that launches have taken.
#[derive(Debug)]
pub(crate) struct Stacks {
    window: Window,
    /// The taken parts, in the order of their addresses.
    taken: Mutex<Vec<Window>>,
    freed: Condvar,
}

/// The part of one launch. Dropping this value frees the part.
#[derive(Debug)]
pub(crate) struct StacksOfLaunch<'a> {
    stacks: &'a Stacks,
    pub(crate) window: Window,
}

impl Stacks {
    /// All of a window, which starts at a multiple of [`STEP`].
    pub(crate) fn new(window: Window) -> Self {
        Self { window, taken: Mutex::default(), freed: Condvar::new() }
    }

    /// Takes the lowest free part of `bytes` bytes (the whole window, if it is smaller), and waits until one is free.
    /// So small launches reuse memory that earlier launches have touched.
    pub(crate) fn take(&self, bytes: u64) -> StacksOfLaunch<'_> {
        let all = self.window.end - self.window.start;
        let bytes = bytes.checked_next_multiple_of(STEP as u64).unwrap_or(all).min(all);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut start = self.window.start;
            let gap = taken.iter().position(|part| {
                let is_wide = part.start - start >= bytes;
                if !is_wide {
                    start = part.end;
                }
                is_wide
            });
            if gap.is_some() || self.window.end - start >= bytes {
                let window = Window { start, end: start + bytes };
                let place = gap.unwrap_or(taken.len());
                taken.insert(place, window);
                return StacksOfLaunch { stacks: self, window };
            }
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for StacksOfLaunch<'_> {
    fn drop(&mut self) {
        let mut taken = self.stacks.taken.lock().unwrap_or_else(PoisonError::into_inner);
        // Launches that need no stack have empty parts, some of which are equal.
        if let Some(place) = taken.iter().position(|part| *part == self.window) {
            taken.remove(place);
        }
        // Several launches may wait, for parts of any size.
        self.stacks.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{STEP, Stacks};
    use crate::mem::arena::Window;

    const STEP_BYTES: u64 = STEP as u64;

    fn stacks(steps: u64) -> Stacks {
        let start = 16 * STEP_BYTES;
        Stacks::new(Window { start, end: start + steps * STEP_BYTES })
    }

    #[test]
    fn parts_lie_one_behind_the_other_and_gaps_are_filled() {
        let stacks = stacks(8);
        let of = |part: Window| ((part.start / STEP_BYTES) - 16, (part.end / STEP_BYTES) - 16);
        let first = stacks.take(STEP_BYTES + 1);
        let second = stacks.take(STEP_BYTES);
        let third = stacks.take(0);
        assert_eq!([&first, &second, &third].map(|part| of(part.window)), [(0, 2), (2, 3), (0, 0)]);
        drop(first);
        let fourth = stacks.take(3 * STEP_BYTES);
        let fifth = stacks.take(2 * STEP_BYTES);
        assert_eq!([&fourth, &fifth].map(|part| of(part.window)), [(3, 6), (0, 2)]);
        drop((second, third, fourth, fifth));
        assert_eq!(of(stacks.take(u64::MAX).window), (0, 8));
    }

    #[test]
    fn a_launch_that_needs_more_than_is_free_waits() {
        let stacks = stacks(4);
        let (first, second) = (stacks.take(STEP_BYTES), stacks.take(2 * STEP_BYTES));
        let free = stacks.window.end;
        std::thread::scope(|scope| {
            let large = scope.spawn(|| stacks.take(3 * STEP_BYTES).window.end);
            drop(first);
            std::thread::yield_now();
            assert!(!large.is_finished(), "there are no three steps one behind the other");
            drop(second);
            assert!(large.join().is_ok_and(|end| end <= free));
        });
    }
}
