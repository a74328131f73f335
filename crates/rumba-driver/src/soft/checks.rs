//! `RUMBA_CHECK`: which checks the machine makes, and where what they find is written.
//!
//! A finding does not fail the launch: it goes to standard error, and as an object of JSON to the file that
//! `RUMBA_CHECK_JSON` names. What does fail a launch is a fault, and told elsewhere.

use std::fs::OpenOptions;
use std::io::Write;

use rumba_vm::{Checks, Finding};

use crate::error::Error;
use crate::log;

/// Turns a check on.
type Set = fn(&mut Checks);

/// The checks by name, and how each is turned on.
const NAMES: [(&str, Set); 3] = [
    ("mem", |checks| checks.memcheck = true),
    ("init", |checks| checks.initcheck = true),
    ("race", |checks| checks.racecheck = true),
];

/// What `RUMBA_CHECK` asks for.
pub(crate) fn wanted() -> Result<Checks, Error> {
    match std::env::var_os("RUMBA_CHECK") {
        None => Ok(Checks::default()),
        Some(text) => parse(&text.to_string_lossy()),
    }
}

fn parse(text: &str) -> Result<Checks, Error> {
    let mut checks = Checks::default();
    if text.is_empty() {
        return Ok(checks);
    }
    checks.memcheck = false;
    for name in text.split(',').map(str::trim) {
        let known = NAMES.iter().filter(|(known, _)| name == "all" || name == *known);
        let mut found = name == "none";
        for (_, turn_on) in known {
            turn_on(&mut checks);
            found = true;
        }
        if !found {
            let names = NAMES.map(|(name, _)| name).join(", ");
            return Err(Error::Device(format!(
                "RUMBA_CHECK={text}: there is no check `{name}`; there are {names}, all and none, separated by commas"
            )));
        }
    }
    Ok(checks)
}

/// Writes what was found in a launch.
pub(crate) fn report(findings: &[Finding]) {
    for finding in findings {
        log::write(format_args!("{finding}"));
    }
    if findings.is_empty() {
        return;
    }
    let Some(path) = std::env::var_os("RUMBA_CHECK_JSON") else {
        return;
    };
    let lines: Vec<String> = findings.iter().flat_map(serde_json::to_string).collect();
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all((lines.join("\n") + "\n").as_bytes()));
    if let Err(error) = written {
        log::write(format_args!(
            "RUMBA_CHECK_JSON={}: could not write findings: {error}",
            path.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::{Checks, parse};

    #[test]
    fn checks_are_those_that_are_named() {
        let of = |text| parse(text).map(|checks: Checks| (checks.memcheck, checks.initcheck, checks.racecheck));
        assert_eq!(of("").unwrap(), (true, false, false));
        assert_eq!(of("mem").unwrap(), (true, false, false));
        assert_eq!(of("race").unwrap(), (false, false, true));
        assert_eq!(of("mem, init").unwrap(), (true, true, false));
        assert_eq!(of("all").unwrap(), (true, true, true));
        assert_eq!(of("none").unwrap(), (false, false, false));
        let message = of("mem,rase").unwrap_err().to_string();
        assert!(
            message.contains("no check `rase`; there are mem, init, race"),
            "{message}"
        );
    }
}
