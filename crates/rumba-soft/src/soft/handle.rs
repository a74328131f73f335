//! Handles: numbers given to C callers, and the live objects that they stand for.
//!
//! A handle is never dereferenced and never reused, so that stale handles, and numbers that were never given out, are
//! recognized. Each kind numbers its handles in a range of its own.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use crate::error::Error;

/// Distance between handles of one kind, so that they look like pointers to objects.
const STEP: usize = 16;

/// The live objects of one kind.
pub(crate) struct Handles<T> {
    kind: &'static str,
    first: usize,
    next: AtomicUsize,
    table: RwLock<Table<T>>,
}

struct Table<T> {
    live: HashMap<usize, Arc<T>>,
    /// The handles whose objects went with their context.
    orphans: HashSet<usize>,
}

impl<T> Handles<T> {
    /// An empty table. `range` tells its handles from those of every other kind.
    pub(crate) fn new(kind: &'static str, range: u8) -> Self {
        let first = (0x5200 + range as usize) << 32;
        Self {
            kind,
            first,
            next: AtomicUsize::new(first + STEP),
            table: RwLock::new(Table { live: HashMap::new(), orphans: HashSet::new() }),
        }
    }

    /// Takes an object in and names it; `make` is told its handle.
    pub(crate) fn insert(&self, make: impl FnOnce(usize) -> T) -> (usize, Arc<T>) {
        let handle = self.next.fetch_add(STEP, Ordering::Relaxed);
        let object = Arc::new(make(handle));
        self.write().live.insert(handle, Arc::clone(&object));
        (handle, object)
    }

    /// Gives an object another name.
    pub(crate) fn insert_shared(&self, object: Arc<T>) -> usize {
        let handle = self.next.fetch_add(STEP, Ordering::Relaxed);
        self.write().live.insert(handle, object);
        handle
    }

    /// The object that `handle` stands for.
    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>, Error> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.live.get(&handle).cloned().ok_or_else(|| self.unknown(&table, handle))
    }

    /// Ends a handle.
    pub(crate) fn remove(&self, handle: usize) -> Result<Arc<T>, Error> {
        let mut table = self.write();
        table.live.remove(&handle).ok_or_else(|| self.unknown(&table, handle))
    }

    /// Why a handle that is not live is refused.
    fn unknown(&self, table: &Table<T>, value: usize) -> Error {
        if table.orphans.contains(&value) {
            return Error::ContextDestroyed;
        }
        let kind = self.kind;
        Error::Handle { kind, value }
    }

    /// Ends the handles of all objects of a context that ends, so that they can be told from those that never were.
    pub(crate) fn orphan(&self, is_of_context: impl Fn(&T) -> bool) {
        let Table { live, orphans } = &mut *self.write();
        orphans.extend(live.extract_if(|_, object| is_of_context(object)).map(|(handle, _)| handle));
    }

    /// Ends the handles of all objects that `keep` refuses.
    pub(crate) fn retain(&self, keep: impl Fn(&T) -> bool) {
        self.write().live.retain(|_, object| keep(object));
    }

    /// How many objects are live.
    pub(crate) fn count(&self) -> usize {
        self.table.read().unwrap_or_else(PoisonError::into_inner).live.len()
    }

    /// Whether `handle` was given out, live or not.
    pub(crate) fn was_issued(&self, handle: usize) -> bool {
        handle > self.first && handle < self.next.load(Ordering::Relaxed) && (handle - self.first).is_multiple_of(STEP)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table<T>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
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
        let gone = Error::Handle { kind: "stream", value: handle };
        assert_eq!(streams.get(handle), Err(gone.clone()));
        assert_eq!(streams.remove(handle), Err(gone));
        assert!(streams.was_issued(handle));
        assert!(!streams.was_issued(handle + 1) && !streams.was_issued(0));
        let (again, _) = streams.insert(|_| 8);
        assert_ne!(again, handle);
        streams.orphan(|number| *number == 8);
        assert_eq!(streams.get(again), Err(Error::ContextDestroyed));
        assert_eq!(streams.remove(again), Err(Error::ContextDestroyed));
    }
}
