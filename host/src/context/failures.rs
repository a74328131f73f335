//! Errors of other processes that ended work on streams of a context. The next wait for the work returns the error.
//!
//! A [`Failure`] belongs to a group of ranks, which decides about the error.

use crate::base::error::RankError;
use crate::context::users::{Users, Waited};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of failures in the process that no wait has returned: waits look no further while it is 0.
static UNTOLD: AtomicUsize = AtomicUsize::new(0);

/// The groups with work on streams of a context.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Vec<Arc<Failure>>>);

/// The end of a group: none yet, or its error.
#[derive(Default)]
pub(crate) struct Failure {
    /// The threads that have called operations of the group, and their streams.
    pub(crate) users: Users,
    error: OnceLock<RankError>,
    told: AtomicBool,
}

impl Failure {
    /// Ends the group. Work that the error ends must be aborted afterwards, so that a wait for the work finds the error. The first
    /// error remains.
    pub(crate) fn set(&self, error: RankError) {
        if self.error.set(error).is_ok() {
            UNTOLD.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The error that ended the group.
    pub(crate) fn error(&self) -> Option<&RankError> {
        self.error.get()
    }

    /// The error, for the caller of an operation: no wait returns it any more.
    pub(crate) fn tell(&self) -> Option<RankError> {
        let error = self.error.get()?;
        if !self.told.swap(true, Ordering::SeqCst) {
            UNTOLD.fetch_sub(1, Ordering::SeqCst);
        }
        Some(error.clone())
    }
}

impl Failures {
    pub(crate) fn attach(&self, failure: &Arc<Failure>) {
        self.0.lock().push(failure.clone());
    }

    /// Forgets a group that is dropped, unless a wait has yet to return its error.
    pub(crate) fn detach(&self, failure: &Arc<Failure>) {
        let is_untold = failure.error().is_some() && !failure.told.load(Ordering::SeqCst);
        if !is_untold {
            self.0.lock().retain(|other| !Arc::ptr_eq(other, failure));
        }
    }

    /// Whether a group has work on streams of the context, which other processes could end.
    pub(crate) fn are_possible(&self) -> bool {
        !self.0.lock().is_empty()
    }

    /// The error of a group that used what this thread has waited for.
    #[inline]
    pub(crate) fn take(&self, waited: Waited) -> Option<RankError> {
        if UNTOLD.load(Ordering::SeqCst) == 0 { None } else { self.find(waited) }
    }

    #[cold]
    fn find(&self, waited: Waited) -> Option<RankError> {
        let failures = self.0.lock();
        let is_for = |failure: &&Arc<Failure>| {
            failure.error().is_some() && !failure.told.load(Ordering::SeqCst) && failure.users.include(waited)
        };
        failures.iter().find(is_for)?.tell()
    }
}
