//! Processes of a test's own: a driver has one state per process, and reads its variables once.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// In the environment of a child: its test.
const TEST: &str = "RUMBA_TEST_CHILD";

/// Whether this process was made for a test.
pub fn is_child() -> bool {
    std::env::var_os(TEST).is_some()
}

/// Runs a test, named by its path in this program, in a process of its own with these variables, without those that are empty; `None`
/// in that process.
#[track_caller]
pub fn child(test: &str, variables: &[(&str, &dyn AsRef<OsStr>)]) -> Option<Output> {
    let program = std::env::current_exe().expect("the test knows its file");
    (!is_child()).then(|| run(&program, test, variables).expect("the test can run itself"))
}

/// As [`child`], of another copy of this program.
pub fn run(program: &Path, test: &str, variables: &[(&str, &dyn AsRef<OsStr>)]) -> std::io::Result<Output> {
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).env(TEST, test);
    for (name, value) in variables {
        match value.as_ref() {
            value if value.is_empty() => command.env_remove(name),
            value => command.env(name, value),
        };
    }
    let output = command.output()?;
    let said = text(&output);
    assert!(!said.contains("running 0 tests"), "there is no test `{test}`");
    Ok(output)
}

/// What a process printed to both of its streams.
pub fn text(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{stdout}{stderr}")
}

/// What a process printed, which must have succeeded.
#[track_caller]
pub fn said(output: &Output) -> String {
    let said = text(output);
    assert!(output.status.success(), "{}\n{said}", output.status);
    said
}
