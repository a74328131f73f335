//! `RUMBA_ENGINE=compare`: what is said of launches that ran on both engines, when the process ends.
//!
//! The line goes to standard error, or, as an object of JSON, to the file that `RUMBA_COMPARE_JSON` names, with each difference when it is
//! found. How launches are compared is the machine's business.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Once;

use rumba_vm::{Comparisons, Reason};
use serde_json::{Map, Value, json};

use crate::log;
use crate::soft::checks::append_json;
use crate::soft::driver::Driver;

/// The file for counts and differences.
const JSON: &str = "RUMBA_COMPARE_JSON";

fn path() -> Option<PathBuf> {
    std::env::var_os(JSON).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Writes a difference to the file, if there is one.
pub(crate) fn note(report: &str) {
    if let Some(path) = path() {
        append_json(JSON, &path, &json!({ "difference": report }));
    }
}

/// Has the counts written when the process ends.
pub(crate) fn count_at_exit() {
    static REGISTERED: Once = Once::new();
    // SAFETY: the function stays mapped: libraries that contain this crate are linked so that they are never unloaded.
    REGISTERED.call_once(|| unsafe {
        libc::atexit(at_exit);
    });
}

extern "C" fn at_exit() {
    let counts = Driver::get().ok().and_then(|driver| driver.machine.comparisons());
    let Some(counts) = counts.filter(|counts| *counts != Comparisons::default()) else {
        return;
    };
    match path() {
        Some(path) => append_json(JSON, &path, &object(&counts)),
        None => log::write(format_args!("{}", line(&counts))),
    }
}

/// The reasons with a count above zero, and these counts.
fn left_out(counts: &Comparisons) -> impl Iterator<Item = (&'static str, u64)> {
    let all = Reason::ALL.map(Reason::text).into_iter().zip(counts.left_out);
    all.filter(|(_, count)| *count > 0)
}

fn object(counts: &Comparisons) -> Value {
    let left_out: Map<String, Value> =
        left_out(counts).map(|(reason, count)| (reason.to_owned(), count.into())).collect();
    json!({ "compared": counts.same + counts.different, "left_out": left_out })
}

fn line(counts: &Comparisons) -> String {
    let Comparisons { same, different, .. } = counts;
    let mut line = format!("RUMBA_ENGINE=compare: {} launches compared, {different} of them differ", same + different);
    for (reason, count) in left_out(counts) {
        let _ = write!(line, "; {count} left out: {reason}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Comparisons, Reason, line, object};

    #[test]
    fn counts_are_told_with_their_reasons() {
        let mut counts = Comparisons { same: 7, different: 1, ..Comparisons::default() };
        counts.left_out[Reason::NoCode as usize] = 2;
        assert_eq!(
            line(&counts),
            "RUMBA_ENGINE=compare: 8 launches compared, 1 of them differ; 2 left out: the kernel has no compiled code, or not yet"
        );
        assert_eq!(
            object(&counts).to_string(),
            r#"{"compared":8,"left_out":{"the kernel has no compiled code, or not yet":2}}"#
        );
    }
}
