//! Handles: numbers given to C callers, and the live objects that they stand for.
//!
//! A handle is never dereferenced and never reused, so that one that is stale, or was never given out, is
//! recognised as such. Each kind numbers its handles in a range of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Error;

/// Distance between handles of one kind, so that they look like pointers to objects.
const STEP: usize = 16;

/// The live objects of one kind.
pub(crate) struct Handles<T> {
    kind: &'static str,
    first: usize,
    next: AtomicUsize,
    live: RwLock<HashMap<usize, Arc<T>>>,
}

impl<T> Handles<T> {
    /// An empty table. `range` tells its handles from those of every other kind.
    pub(crate) fn new(kind: &'static str, range: u8) -> Self {
        let first = (0x5200 + range as usize) << 32;
        Self {
            kind,
            first,
            next: AtomicUsize::new(first + STEP),
            live: RwLock::default(),
        }
    }

    /// Takes an object in and names it; `make` is told its handle.
    pub(crate) fn insert(&self, make: impl FnOnce(usize) -> T) -> (usize, Arc<T>) {
        let handle = self.next.fetch_add(STEP, Ordering::Relaxed);
        let object = Arc::new(make(handle));
        self.write().insert(handle, Arc::clone(&object));
        (handle, object)
    }

    /// Gives an object another name.
    pub(crate) fn insert_shared(&self, object: Arc<T>) -> usize {
        let handle = self.next.fetch_add(STEP, Ordering::Relaxed);
        self.write().insert(handle, object);
        handle
    }

    /// The object that `handle` stands for.
    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>, Error> {
        self.live
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&handle)
            .cloned()
            .ok_or(Error::Handle {
                kind: self.kind,
                value: handle,
            })
    }

    /// Ends a handle.
    pub(crate) fn remove(&self, handle: usize) -> Result<Arc<T>, Error> {
        self.write().remove(&handle).ok_or(Error::Handle {
            kind: self.kind,
            value: handle,
        })
    }

    /// Ends the handles of all objects that `keep` refuses.
    pub(crate) fn retain(&self, keep: impl Fn(&T) -> bool) {
        self.write().retain(|_, object| keep(object));
    }

    /// Whether `handle` was given out, live or not.
    pub(crate) fn was_issued(&self, handle: usize) -> bool {
        handle > self.first && handle < self.next.load(Ordering::Relaxed) && (handle - self.first).is_multiple_of(STEP)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<usize, Arc<T>>> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_foreign_handles_are_refused() {
        let streams = Handles::new("stream", 1);
        let events = Handles::new("event", 2);
        let (handle, _) = streams.insert(|_| 7);
        events.insert(|_| ());
        assert_eq!(streams.get(handle).as_deref(), Ok(&7));
        assert!(events.get(handle).is_err());
        assert!(streams.remove(handle).is_ok());
        let gone = Error::Handle {
            kind: "stream",
            value: handle,
        };
        assert_eq!(streams.get(handle), Err(gone.clone()));
        assert_eq!(streams.remove(handle), Err(gone));
        assert!(streams.was_issued(handle));
        assert!(!streams.was_issued(handle + 1) && !streams.was_issued(0));
        let (again, _) = streams.insert(|_| 8);
        assert_ne!(again, handle);
    }
}
