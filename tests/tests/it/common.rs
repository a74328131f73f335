//! What several tests need: a process of one's own, and texts without addresses.

use std::process::Command;

/// Runs a test, named by its path in this program, in a process of its own with these variables, and gives what it returns
/// there.
///
/// The driver reads its variables once in a process, and a fault ends the context of the whole process.
#[track_caller]
pub fn alone(name: &str, environment: &[(&str, &str)], test: impl FnOnce() -> String) -> String {
    const ANSWER: &str = "RUMBA_TEST_ALONE";
    if let Some(file) = std::env::var_os(ANSWER) {
        let text = test();
        std::fs::write(file, &text).expect("the test's parent made the folder");
        return text;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let answer = folder.path().join("answer");
    let output = Command::new(std::env::current_exe().expect("a test knows itself"))
        .args(["--exact", name, "--nocapture"])
        .env(ANSWER, &answer)
        .envs(environment.iter().copied())
        .output()
        .expect("a test can be run again");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        output.status.success(),
        "`{name}` in a process of its own:\n{stdout}{stderr}"
    );
    std::fs::read_to_string(answer).unwrap_or_else(|error| panic!("`{name}` did not run: {error}\n{stdout}{stderr}"))
}

/// The text without addresses, which have more than eight hexadecimal digits; masks have that many.
pub fn hide_addresses(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split("0x").enumerate() {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        match index {
            0 => out += part,
            _ if digits > 8 => out += &format!("0x…{}", &part[digits..]),
            _ => out += &format!("0x{part}"),
        }
    }
    out
}
