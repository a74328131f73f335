//! The threads and streams that put work of one origin on a device, so that a wait returns the errors of the work that it waited for.

use crate::context::queue::Queue;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The object of a wait. [`Waited::on`] makes that of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Waited {
    /// Memory, the default stream, or the whole device, which threads share that know nothing of each other.
    Device,
    /// The stream of this number, an event on it, or work on it that a callback was put behind.
    Stream(u64),
}

impl Waited {
    /// The stream of this number, which may be the default stream.
    #[inline]
    pub(crate) fn on(stream: u64) -> Self {
        if stream == Queue::DEFAULT { Self::Device } else { Self::Stream(stream) }
    }
}

/// The users of one origin of work: of a module, or of a group of ranks.
#[derive(Default)]
pub(crate) struct Users {
    known: Mutex<Vec<User>>,
    /// The [`User::key`] of the last use: most uses repeat the thread and stream of the previous use.
    last: AtomicU64,
}

/// A thread that has put work on a stream.
struct User {
    thread: u64,
    /// Gone when the thread has ended.
    alive: Weak<()>,
    stream: u64,
}

impl User {
    fn key(thread: u64, stream: u64) -> u64 {
        thread << 32 | stream & 0xffff_ffff
    }
}

thread_local! {
    /// A unique number of this thread, and a reference count that lives as long as the thread.
    static THREAD: (u64, Arc<()>) = {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        (NEXT.fetch_add(1, Ordering::Relaxed), Arc::default())
    };
}

/// The number of this thread; 0 while it ends.
fn this_thread() -> u64 {
    THREAD.try_with(|(number, _)| *number).unwrap_or(0)
}

impl Users {
    /// Notes this thread and the stream of its work, before the work.
    #[inline]
    pub(crate) fn note(&self, stream: u64) {
        let thread = this_thread();
        if self.last.load(Ordering::Relaxed) != User::key(thread, stream) {
            self.note_new(thread, stream);
        }
    }

    #[cold]
    fn note_new(&self, thread: u64, stream: u64) {
        let mut users = self.known.lock();
        users.retain(|known| known.alive.strong_count() > 0);
        if !users.iter().any(|known| (known.thread, known.stream) == (thread, stream)) {
            let alive = THREAD.try_with(|(_, alive)| Arc::downgrade(alive)).unwrap_or_default();
            users.push(User { thread, alive, stream });
        }
        self.last.store(User::key(thread, stream), Ordering::Relaxed);
    }

    /// Whether an error of the work is for this thread, which has waited. Errors for threads that have all ended are for any thread.
    pub(crate) fn include(&self, waited: Waited) -> bool {
        let thread = this_thread();
        let users = self.known.lock();
        let is_for = |known: &User| match waited {
            Waited::Stream(stream) => known.thread == thread || known.stream == stream,
            Waited::Device => known.thread == thread,
        };
        users.iter().any(is_for) || users.iter().all(|known| known.alive.strong_count() == 0)
    }
}
