//! The end of a process under `RUMBA_CHECK`: a line of counts on standard error, and an exit code that says whether errors were
//! found.
//!
//! The line is written where destructors of libraries run, behind all handlers of `atexit`, and the process ends there with
//! [`EXIT`]'s code if errors were found and it would have ended with 0. `on_exit` of glibc tells that code; with another C library
//! the exit code stays. A process that ends by a signal or by `_exit` says nothing, and neither does a forked process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::Duration;

use rumba_interface::check::{Finding, Severity, Tally, counted};

use crate::log;
use crate::soft::checks;

/// The variable that sets the exit code.
pub(crate) const EXIT: &str = "RUMBA_CHECK_EXIT";

/// The exit code of a process in which errors were found, as of ThreadSanitizer's.
pub(crate) const ERRORS_FOUND: u8 = 66;

/// The remedy for reports that name lines of PTX.
const LINES: &str = "help: reports name lines of the source where the PTX has them: compile with `-lineinfo` in nvcc, with \
    `@cuda.jit(lineinfo=True)` in Numba";

/// The launches and findings of this process.
struct Verdict {
    /// The process: a forked one is another.
    process: u32,
    /// The checks that `RUMBA_CHECK` asks for.
    checks: String,
    exit: u8,
    launches: u64,
    kernels: BTreeSet<String>,
    /// The worst severity of each finding.
    found: BTreeMap<String, Severity>,
    /// Whether a finding names lines of PTX, for want of others.
    lacks_lines: bool,
    /// The code that the process ends with, once that is known.
    status: Option<c_int>,
}

static VERDICT: Mutex<Option<Verdict>> = Mutex::new(None);

fn change(change: impl FnOnce(&mut Verdict)) {
    if let Some(verdict) = &mut *VERDICT.lock().unwrap_or_else(PoisonError::into_inner) {
        change(verdict);
    }
}

/// Begins to count, for a process that `RUMBA_CHECK` asks for `checks`.
pub(crate) fn begin(checks: String, exit: u8) {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        *VERDICT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Verdict {
            process: std::process::id(),
            checks,
            exit,
            launches: 0,
            kernels: BTreeSet::new(),
            found: BTreeMap::new(),
            lacks_lines: false,
            status: None,
        });
        #[cfg(target_env = "gnu")]
        {
            unsafe extern "C" {
                safe fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
            }
            // If there is no memory for the handler, the exit code stays.
            on_exit(exiting, std::ptr::null_mut());
        }
    });
}

/// Counts a launch.
pub(crate) fn launched() {
    change(|verdict| verdict.launches += 1);
}

/// Counts findings.
pub(crate) fn found(findings: &[Finding]) {
    change(|verdict| {
        for finding in findings {
            verdict.kernels.extend(finding.kernel.clone());
            verdict.lacks_lines |= finding.sides.iter().any(|side| side.locations.is_empty() && side.ptx_line != 0);
            let severity = verdict.found.entry(finding.key()).or_insert(finding.severity);
            *severity = finding.severity.max(*severity);
        }
    });
}

impl Verdict {
    fn tally(&self) -> Tally {
        self.found.values().copied().collect()
    }

    /// The exit code, if it is to be another one.
    fn exit(&self) -> Option<u8> {
        (self.status == Some(0) && self.exit != 0 && self.tally().errors > 0).then_some(self.exit)
    }

    /// The same counts for programs.
    fn counts(&self) -> serde_json::Value {
        let Tally { errors, warnings, infos } = self.tally();
        let (kernels, launches) = (self.kernels.len(), self.launches);
        serde_json::json!({
            "checks": self.checks, "launches": launches, "kernels": kernels, "errors": errors, "warnings": warnings, "infos": infos,
        })
    }

    fn line(&self) -> String {
        let (tally, launches) = (self.tally(), counted(self.launches, "launch"));
        let kernels = match self.kernels.len() {
            0 => String::new(),
            count => format!("{}, ", counted(count as u64, "kernel")),
        };
        let exit = self.exit();
        let exit = exit.map_or_else(String::new, |code| format!("; exit code {code}, which {EXIT}=0 turns off"));
        format!("{tally} in {kernels}{launches} (RUMBA_CHECK={}){exit}", self.checks)
    }
}

/// The process ends with a code.
#[cfg(target_env = "gnu")]
extern "C" fn exiting(status: c_int, _: *mut c_void) {
    if let Some(Some(verdict)) = at_the_end().as_deref_mut() {
        verdict.status = Some(status);
    }
}

/// The verdict, unless a thread that is gone holds it, as in a forked process.
fn at_the_end() -> Option<MutexGuard<'static, Option<Verdict>>> {
    const TRIES: usize = 100;
    (0..TRIES).find_map(|_| match VERDICT.try_lock() {
        Ok(verdict) => Some(verdict),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_millis(1));
            None
        }
    })
}

/// The loader calls what it finds in this section, behind all handlers of `atexit`.
#[used]
#[unsafe(link_section = ".fini_array")]
static ENDED: extern "C" fn() = ended;

extern "C" fn ended() {
    let Some(mut verdict) = at_the_end() else { return };
    let Some(verdict) = verdict.take().filter(|verdict| verdict.process == std::process::id()) else {
        return;
    };
    if verdict.lacks_lines {
        log::write(format_args!("{LINES}"));
    }
    log::write(format_args!("{}", verdict.line()));
    checks::write_counts(&verdict.counts());
    if let Some(code) = verdict.exit() {
        // SAFETY: both are called from one thread, and the process ends.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(code.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, BTreeSet, ERRORS_FOUND, Severity, Verdict};

    #[test]
    fn an_exit_code_of_its_own_stays() {
        let verdict = |severity, status| Verdict {
            process: 0,
            checks: "all".to_owned(),
            exit: ERRORS_FOUND,
            launches: 12,
            kernels: BTreeSet::from(["histogram".to_owned()]),
            found: BTreeMap::from([("a place".to_owned(), severity)]),
            lacks_lines: false,
            status,
        };
        let failed = verdict(Severity::Error, Some(0));
        assert_eq!(failed.exit(), Some(ERRORS_FOUND));
        assert_eq!(
            failed.line(),
            "1 error in 1 kernel, 12 launches (RUMBA_CHECK=all); exit code 66, which RUMBA_CHECK_EXIT=0 turns off"
        );
        assert_eq!(verdict(Severity::Error, Some(3)).exit(), None);
        assert_eq!(verdict(Severity::Error, None).exit(), None);
        assert_eq!(verdict(Severity::Warning, Some(0)).exit(), None);
        assert_eq!(Verdict { exit: 0, ..verdict(Severity::Error, Some(0)) }.exit(), None);
        let silent = Verdict { kernels: BTreeSet::new(), found: BTreeMap::new(), ..verdict(Severity::Info, Some(0)) };
        assert_eq!(silent.line(), "no findings in 12 launches (RUMBA_CHECK=all)");
    }
}
