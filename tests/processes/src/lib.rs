//! Tests in processes of their own: a program of tests runs itself again, for one test.
//!
//! A process chooses its device once, reads the variables of its environment once, and has one context of a device, which a
//! fault ends. A test that changes any of them calls [`alone`]; a program whose tests are rows of a table calls [`run`].

mod engine;
mod nccl;

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

pub use engine::{Engine, engines, has_gpu};
pub use nccl::stand_in_for_nccl;

/// The result of a test. Any error is reported by its message.
pub type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// In the environment of a process made for a test: the test's name.
const TEST: &str = "RUMBA_TEST_ALONE";

/// The variable for a test with trybuild, which compiles dependencies with these flags but the last one, and then everything with all of
/// them: dependencies twice. Cargo prefers the variable's flags to trybuild's.
pub const TRYBUILD: (&str, &str) =
    ("CARGO_ENCODED_RUSTFLAGS", "--cfg\x1ftrybuild\x1f--verbose\x1f-A\x1fdead_code\x1f--diagnostic-width=140");

/// The test that this process was made for, if it was made for one.
pub fn asked() -> Option<String> {
    std::env::var(TEST).ok()
}

/// Calls `test` in a process of its own, which has these variables in its environment and lacks those that are empty here; gives
/// what that process has printed. In that process, where code behind the call runs as well, `None`.
///
/// # Panics
///
/// The test that calls fails if `test` does.
#[track_caller]
pub fn alone(variables: &[(&str, &str)], test: impl FnOnce() -> Outcome) -> Option<String> {
    let output = child(variables, test)?;
    passed(&output).unwrap_or_else(|said| panic!("{said}"));
    let said = text(&output);
    print!("{said}");
    Some(said)
}

/// As [`alone`], for a `test` that may fail.
///
/// # Panics
///
/// Outside of a test, whose name is that of its thread.
#[track_caller]
pub fn child(variables: &[(&str, &str)], test: impl FnOnce() -> Outcome) -> Option<Output> {
    let thread = std::thread::current();
    let name = thread.name().expect("a test has a thread with its name");
    if asked().is_some_and(|asked| asked == name) {
        test().unwrap_or_else(|error| panic!("{error}"));
        return None;
    }
    let output = run(name, variables).expect("a test can be run again");
    assert!(!text(&output).contains("running 0 tests"), "there is no test `{name}`");
    Some(output)
}

/// Runs this program again for one of its tests: the `main` that it is then [`asked`] in is Rust's, or one with a table.
///
/// # Errors
///
/// If the program cannot be run.
pub fn run(test: &str, variables: &[(&str, &str)]) -> std::io::Result<Output> {
    run_copy(&std::env::current_exe()?, test, variables)
}

/// As [`run`], of another copy of this program. A copy that is new may be busy: a child process that another test has just
/// forked has the file open for writing until it executes its own program.
///
/// # Errors
///
/// If the copy cannot be run.
pub fn run_copy(program: &Path, test: &str, variables: &[(&str, &str)]) -> std::io::Result<Output> {
    let mut command = emulated(program);
    command.args(["--exact", test, "--nocapture"]).env(TEST, test);
    for (name, value) in variables {
        match value.is_empty() {
            true => command.env_remove(name),
            false => command.env(name, value),
        };
    }
    let mut attempts = 0..BUSY;
    loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && attempts.next().is_some() => {
                std::thread::sleep(Duration::from_millis(10));
            }
            output => return output,
        }
    }
}

/// How often a program that is busy is tried again, 10 ms later.
const BUSY: u32 = 500;

/// Whether a test passed in its process; else how that ended, and what it printed.
///
/// # Errors
///
/// If it has not passed.
pub fn passed(output: &Output) -> Result<(), String> {
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}\n{}", output.status, text(output))),
    }
}

/// The output of a process on both of its streams.
pub fn text(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{stdout}{stderr}")
}

/// A command that runs a program of this machine: by what cargo was told to run them with, if that is an emulator.
pub fn emulated(program: &Path) -> Command {
    let runner = match std::env::consts::ARCH {
        "aarch64" => std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER").unwrap_or_default(),
        _ => String::new(),
    };
    let mut words = runner.split_whitespace();
    match words.next() {
        None => Command::new(program),
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(program);
            command
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_the_variables_and_what_it_prints_is_given() {
        const HERE: &str = "RUMBA_TEST_HERE";
        let printed = alone(&[(HERE, "there"), ("PATH", "")], || {
            println!("{:?}, {:?}", std::env::var(HERE), std::env::var_os("PATH"));
            Ok(())
        });
        if let Some(printed) = printed {
            assert!(printed.contains("Ok(\"there\"), None"), "{printed}");
        }
    }

    #[test]
    #[should_panic(expected = "0 passed; 1 failed")]
    fn a_failure_in_a_process_of_its_own_is_told() {
        alone(&[], || Err("on purpose".into()));
    }
}
