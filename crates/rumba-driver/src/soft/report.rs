//! The last report: what a C caller cannot be told, kept for [`crate::last_report`].

use std::sync::{Mutex, PoisonError};

use crate::log::{self, Level};

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps a report of a failed load or kernel, in place of the one before it.
pub(crate) fn keep(report: &str) {
    log::say(Level::Reports, format_args!("{report}"));
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.to_owned());
}

/// The report kept last.
pub(crate) fn last() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
