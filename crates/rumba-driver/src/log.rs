//! `RUMBA_LOG`: what the driver says on standard error.
//!
//! One scale, from silence to every call; no files, no filters by name.

use std::fmt;
use std::sync::OnceLock;

/// How much is said. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing.
    Off,
    /// Reports of kernels that failed and of modules that could not be loaded.
    Reports,
    /// Also which device was chosen, calls that failed and why, and calls that are not served yet.
    Errors,
    /// Also every call of the software device with its result.
    Calls,
}

/// The level that `RUMBA_LOG` asks for; read once.
///
/// Without the variable a Rust program hears nothing, since [`crate::last_report`] gives it the reports,
/// and a program that loaded `libcuda.so.1` hears the reports, since it has no other way to them.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let Some(asked) = std::env::var_os("RUMBA_LOG") else {
            return if crate::choice::is_library() {
                Level::Reports
            } else {
                Level::Off
            };
        };
        parse(&asked.to_string_lossy()).unwrap_or_else(|| {
            write(format_args!(
                "RUMBA_LOG={} is none of off, reports, errors, calls: taken as errors",
                asked.display()
            ));
            Level::Errors
        })
    })
}

fn parse(text: &str) -> Option<Level> {
    match text {
        "" | "off" => Some(Level::Off),
        "reports" => Some(Level::Reports),
        "errors" => Some(Level::Errors),
        "calls" => Some(Level::Calls),
        _ => None,
    }
}

/// Says `message` if the level is at least `least`.
pub(crate) fn say(least: Level, message: fmt::Arguments<'_>) {
    if level() >= least {
        write(message);
    }
}

pub(crate) fn write(message: fmt::Arguments<'_>) {
    use std::io::Write;
    // One write per message keeps messages of several threads apart; a closed standard error is no failure.
    let _ = std::io::stderr().write_all(format!("rumba: {message}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_include_those_before_them() {
        assert!(parse("calls") > parse("errors"));
        assert!(parse("errors") > parse("reports"));
        assert!(parse("reports") > parse("off"));
        assert_eq!(parse("verbose"), None);
    }
}
