//! Where messages go: whether a person will see them in colour, and how to print between the lines of
//! cargo's progress bar.

use std::env;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};

/// Whether this process is a build script of cargo.
pub(crate) fn in_build_script() -> bool {
    env::var_os("OUT_DIR").is_some() && env::var_os("CARGO_MANIFEST_DIR").is_some()
}

/// Whether diagnostics should be coloured: cargo's and the common switches first, then the terminal.
pub(crate) fn colour() -> bool {
    match env::var("CARGO_TERM_COLOR").as_deref() {
        Ok("always") => return true,
        Ok("never") => return false,
        _ => {}
    }
    if env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    if env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return false;
    }
    std::io::stderr().is_terminal() || (in_build_script() && cargo_has_terminal())
}

/// Cargo captures the output of a build script and shows it when the script fails, so the script's own standard error
/// is never a terminal. The destination of cargo's output decides.
fn cargo_has_terminal() -> bool {
    #[cfg(target_os = "linux")]
    {
        let cargo = std::os::unix::process::parent_id();
        std::fs::read_link(format!("/proc/{cargo}/fd/2"))
            .is_ok_and(|file| file.starts_with("/dev/pts") || file.starts_with("/dev/tty"))
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// Passes on what a process prints to standard error, line by line.
pub(crate) fn forward(from: impl Read) {
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let mut stderr = std::io::stderr().lock();
        let _ = stderr.write_all(&line).and_then(|()| stderr.write_all(b"\n"));
    }
}

/// Prints a compiler's message to standard error.
pub(crate) fn diagnostic(text: &str) {
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() {
        // Cargo may have left its progress bar on this line.
        let _ = stderr.write_all(b"\r\x1b[K");
    }
    let _ = stderr.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stderr.write_all(b"\n");
    }
}
