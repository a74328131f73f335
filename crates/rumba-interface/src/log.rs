//! `RUMBA_LOG`: what the driver says on standard error.
//!
//! One scale, from silence to every call; no files, no filters by name.

use std::fmt;
use std::sync::OnceLock;

/// How much is said. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Level {
    /// Nothing.
    Off,
    /// Reports of kernels that failed and of modules that could not be loaded.
    Reports,
    /// Also which device was chosen, calls that failed and why, and calls that are not served yet.
    Errors,
    /// Also every call of the software device with its result.
    Calls,
}

static LEVEL: OnceLock<Level> = OnceLock::new();

/// The level: the one that was [`set`] first, else what `RUMBA_LOG` asks for.
pub fn level() -> Level {
    *LEVEL.get_or_init(|| from_environment(Level::Off))
}

/// Sets the level for the process, unless it is set already. A loaded device has a level of its own, which the program sets.
pub fn set(level: Level) {
    // Both sides of a device that is linked in share the first one.
    let _ = LEVEL.set(level);
}

/// The level that `RUMBA_LOG` asks for, or `default` if the variable is not set.
pub fn from_environment(default: Level) -> Level {
    let Some(asked) = std::env::var_os("RUMBA_LOG") else {
        return default;
    };
    parse(&asked.to_string_lossy()).unwrap_or_else(|| {
        write(format_args!("RUMBA_LOG={} is none of off, reports, errors, calls: taken as errors", asked.display()));
        Level::Errors
    })
}

impl Level {
    /// The level of that number; above the last one it is the last one.
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Off,
            1 => Self::Reports,
            2 => Self::Errors,
            _ => Self::Calls,
        }
    }
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
pub fn say(least: Level, message: fmt::Arguments<'_>) {
    if level() >= least {
        write(message);
    }
}

/// Says `message` at any level.
pub fn write(message: fmt::Arguments<'_>) {
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

    #[test]
    fn levels_have_numbers() {
        for level in [Level::Off, Level::Reports, Level::Errors, Level::Calls] {
            assert_eq!(Level::from_number(level as u32), level);
        }
    }
}
