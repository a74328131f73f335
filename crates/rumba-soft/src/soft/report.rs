//! The last report: what a C caller cannot be told, kept for `rumba_driver::last_report`.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::log::{self, Level};

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the report of a failed kernel, in place of the one before it.
pub(crate) fn fault(report: &str) {
    log::say(Level::Reports, format_args!("{report}"));
    keep(report.to_owned());
}

/// Reports a bug of the machine, at any level of the log.
pub(crate) fn mistake(report: &str) {
    log::write(format_args!("{report}"));
    keep(report.to_owned());
}

/// Keeps the report of a failed load or link. The level that names failed calls says the same once more, so
/// here it is said only below that.
pub(crate) fn refusal(error: &Error) {
    if log::level() == Level::Reports {
        log::say(Level::Reports, format_args!("{error}"));
    }
    keep(error.to_string());
}

fn keep(report: String) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
}

/// The report kept last.
pub(crate) fn last() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
