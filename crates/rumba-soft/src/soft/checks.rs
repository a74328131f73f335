//! `RUMBA_CHECK`: which checks the machine makes, and where what they find is written; `RUMBA_PROFILE_JSON`: where what
//! kernels do is written in numbers.
//!
//! A finding does not fail the launch: it goes to standard error, and as an object of JSON to the file that
//! `RUMBA_CHECK_JSON` names. What does fail a launch is a fault, and told elsewhere.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use rumba_interface::check::{Check, Finding};
use rumba_vm::{CheckSet, Exploration, ExplorationBound, Profile};

use crate::error::Error;
use crate::log;
use crate::soft::verdict;

/// The checks that `RUMBA_CHECK` asks for.
pub(crate) fn wanted() -> Result<CheckSet, Error> {
    match std::env::var_os("RUMBA_CHECK") {
        None => Ok(CheckSet::default()),
        Some(text) => parse(&text.to_string_lossy()),
    }
}

/// The text of `RUMBA_CHECK`, if it asks for any check.
pub(crate) fn asked() -> Option<String> {
    let text = std::env::var_os("RUMBA_CHECK")?.to_string_lossy().into_owned();
    (!["", "none"].contains(&text.trim())).then_some(text)
}

fn parse(text: &str) -> Result<CheckSet, Error> {
    if text.is_empty() {
        return Ok(CheckSet::default());
    }
    let mut checks = CheckSet::NONE;
    for name in text.split(',').map(str::trim) {
        match name {
            "none" => {}
            "all" => checks = Check::in_checked_runs().fold(checks, CheckSet::with),
            _ => match Check::named().find(|check| check.name() == name) {
                Some(check) => checks = checks.with(check),
                None => {
                    let names: Vec<String> = Check::named().map(Check::name).collect();
                    let names = names.join(", ");
                    return Err(Error::Device(format!(
                        "RUMBA_CHECK={text}: there is no check `{name}`; there are {names}, all and none, separated by commas"
                    )));
                }
            },
        }
    }
    Ok(checks)
}

/// What `RUMBA_CHECK_ORDERS` and `RUMBA_CHECK_ORDER` ask for: launches in so many orders of their synchronising operations at most,
/// or in one.
pub(crate) fn orders() -> Result<Option<Exploration>, Error> {
    let set = |name| std::env::var_os(name).map(|text: std::ffi::OsString| text.to_string_lossy().into_owned());
    let bound = |orders| ExplorationBound { orders, ..ExplorationBound::default() };
    if let Some(schedule) = set(ORDER) {
        let exploration = Exploration::replaying(&schedule, bound(1));
        return exploration.map(Some).map_err(|error| Error::Device(format!("{ORDER}: {error}")));
    }
    let Some(text) = set(ORDERS) else { return Ok(None) };
    match text.trim().parse() {
        Ok(0) => Ok(None),
        Ok(orders) => Ok(Some(Exploration::new(bound(orders)))),
        Err(_) => Err(Error::Device(format!("{ORDERS}={text}: a number is wanted, of orders of each launch at most"))),
    }
}

/// How many orders each launch is run in, and the one that is run again.
const ORDERS: &str = "RUMBA_CHECK_ORDERS";
const ORDER: &str = "RUMBA_CHECK_ORDER";

/// Writes what was found, where the environment asks for checks.
pub(crate) fn report(findings: &[Finding]) {
    if findings.is_empty() || std::env::var_os("RUMBA_CHECK").is_none() {
        return;
    }
    verdict::found(findings);
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for finding in findings {
        log::write(format_args!("{}\n", finding.render(colour)));
    }
    let Some(path) = std::env::var_os(JSON) else {
        return;
    };
    append(JSON, Path::new(&path), findings.iter().map(serde_json::to_string));
}

/// Writes the counts of a process that ends.
pub(crate) fn write_counts(counts: &serde_json::Value) {
    if let Some(path) = std::env::var_os(JSON) {
        append_json(JSON, Path::new(&path), counts);
    }
}

/// The file for findings, and that for profiles.
const JSON: &str = "RUMBA_CHECK_JSON";
const PROFILE: &str = "RUMBA_PROFILE_JSON";

/// Where profiles are to be written, if they are wanted.
pub(crate) fn profile_path() -> Option<PathBuf> {
    std::env::var_os(PROFILE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Writes what launches did in numbers.
pub(crate) fn write_profiles(profiles: &[Profile]) {
    if let Some(path) = profile_path().filter(|_| !profiles.is_empty()) {
        append(PROFILE, &path, profiles.iter().map(serde_json::to_string));
    }
}

/// Appends objects to a file, a line each.
pub(crate) fn append_json(variable: &str, path: &Path, object: &serde_json::Value) {
    append(variable, path, std::iter::once(serde_json::to_string(object)));
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
    use super::{Check, CheckSet, parse};

    #[test]
    fn checks_are_those_that_are_named() {
        use Check::{Arith, Init, Mem, Race, Sync};
        let of = |text| parse(text);
        let set = |checks: &[Check]| checks.iter().copied().collect::<CheckSet>();
        assert_eq!(of("").unwrap(), CheckSet::default());
        assert_eq!(of("mem").unwrap(), set(&[Mem]));
        assert_eq!(of("race").unwrap(), set(&[Race]));
        assert_eq!(of("mem, init").unwrap(), set(&[Mem, Init]));
        assert_eq!(of("sync,arith").unwrap(), set(&[Sync, Arith]));
        let all = of("all").unwrap();
        assert!([Mem, Init, Race, Sync, Arith].iter().all(|check| all.contains(*check)));
        assert_eq!(of("none").unwrap(), CheckSet::NONE);
        let message = of("mem,rase").unwrap_err().to_string();
        assert!(message.contains("no check `rase`; there are mem, init, race, sync, arith"), "{message}");
    }
}
