//! `RUMBA_CHECK`: which checks the machine makes, and where what they find is written; `RUMBA_PROFILE_JSON`: where what
//! kernels do is written in numbers.
//!
//! A finding does not fail the launch: it goes to standard error, and as an object of JSON to the file that
//! `RUMBA_CHECK_JSON` names. What does fail a launch is a fault, and told elsewhere.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use rumba_interface::check::{Check, Finding};
use rumba_vm::{Checks, Profile};

use crate::error::Error;
use crate::log;

/// Turns a check on.
type Set = fn(&mut Checks);

/// The checks by name, and how each is turned on.
const NAMES: [(&str, Check, Set); 5] = [
    ("mem", Check::Mem, |checks| checks.memcheck = true),
    ("init", Check::Init, |checks| checks.initcheck = true),
    ("race", Check::Race, |checks| checks.racecheck = true),
    ("sync", Check::Sync, |checks| checks.synccheck = true),
    ("arith", Check::Arith, |checks| checks.arithcheck = true),
];

/// No check at all.
fn none() -> Checks {
    Checks {
        memcheck: false,
        ..Checks::default()
    }
}

/// The machine's settings for some checks.
pub(crate) fn of(wanted: &[Check]) -> Checks {
    let mut checks = none();
    for (_, _, turn_on) in NAMES.iter().filter(|(_, check, _)| wanted.contains(check)) {
        turn_on(&mut checks);
    }
    checks
}

/// What `RUMBA_CHECK` asks for.
pub(crate) fn wanted() -> Result<Checks, Error> {
    match std::env::var_os("RUMBA_CHECK") {
        None => Ok(Checks::default()),
        Some(text) => parse(&text.to_string_lossy()),
    }
}

fn parse(text: &str) -> Result<Checks, Error> {
    if text.is_empty() {
        return Ok(Checks::default());
    }
    let mut checks = none();
    for name in text.split(',').map(str::trim) {
        let known = NAMES.iter().filter(|(known, ..)| name == "all" || name == *known);
        let mut found = name == "none";
        for (_, _, turn_on) in known {
            turn_on(&mut checks);
            found = true;
        }
        if !found {
            let names = NAMES.map(|(name, ..)| name).join(", ");
            return Err(Error::Device(format!(
                "RUMBA_CHECK={text}: there is no check `{name}`; there are {names}, all and none, separated by commas"
            )));
        }
    }
    Ok(checks)
}

/// Writes what was found, where the environment asks for checks.
pub(crate) fn report(findings: &[Finding]) {
    if findings.is_empty() || std::env::var_os("RUMBA_CHECK").is_none() {
        return;
    }
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for finding in findings {
        log::write(format_args!("{}\n", finding.render(colour)));
    }
    let Some(path) = std::env::var_os(JSON) else {
        return;
    };
    append(JSON, Path::new(&path), findings.iter().map(serde_json::to_string));
}

/// The file for findings, and that for profiles.
const JSON: &str = "RUMBA_CHECK_JSON";
const PROFILE: &str = "RUMBA_PROFILE_JSON";

/// Where profiles are to be written, if they are wanted.
pub(crate) fn profile_path() -> Option<PathBuf> {
    std::env::var_os(PROFILE)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// Writes what launches did in numbers.
pub(crate) fn write_profiles(profiles: &[Profile]) {
    if let Some(path) = profile_path().filter(|_| !profiles.is_empty()) {
        append(PROFILE, &path, profiles.iter().map(serde_json::to_string));
    }
}

/// Appends objects to the file that a variable of the environment names, a line each.
fn append(variable: &str, path: &Path, objects: impl Iterator<Item = serde_json::Result<String>>) {
    let lines: Vec<String> = objects.flatten().collect();
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all((lines.join("\n") + "\n").as_bytes()));
    if let Err(error) = written {
        log::write(format_args!("{variable}={}: could not write: {error}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::{Checks, parse};

    #[test]
    fn checks_are_those_that_are_named() {
        let of = |text| {
            parse(text).map(|checks: Checks| {
                let Checks {
                    memcheck,
                    initcheck,
                    racecheck,
                    synccheck,
                    arithcheck,
                } = checks;
                [memcheck, initcheck, racecheck, synccheck, arithcheck].map(u8::from)
            })
        };
        assert_eq!(of("").unwrap(), [1, 0, 0, 0, 0]);
        assert_eq!(of("mem").unwrap(), [1, 0, 0, 0, 0]);
        assert_eq!(of("race").unwrap(), [0, 0, 1, 0, 0]);
        assert_eq!(of("mem, init").unwrap(), [1, 1, 0, 0, 0]);
        assert_eq!(of("sync,arith").unwrap(), [0, 0, 0, 1, 1]);
        assert_eq!(of("all").unwrap(), [1; 5]);
        assert_eq!(of("none").unwrap(), [0; 5]);
        let message = of("mem,rase").unwrap_err().to_string();
        assert!(
            message.contains("no check `rase`; there are mem, init, race, sync, arith"),
            "{message}"
        );
    }
}
