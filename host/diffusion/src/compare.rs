//! The digits on one core, on all cores and on a GPU. The environment of a process says what it runs on, so that each is drawn by one of its own.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};

/// What a row is called, and the environment of its process.
const ROWS: [(&str, &[(&str, &str)]); 3] = [
    ("one core", &[("RUMBA_DEVICE", "soft"), ("RUMBA_WORKERS", "1")]),
    ("all cores", &[("RUMBA_DEVICE", "soft"), ("RUMBA_WORKERS", "0")]),
    ("GPU", &[("RUMBA_DEVICE", "gpu")]),
];

/// What a row shows, as the program calls it: all but the transfers leave them out.
const COLUMNS: [&str; 3] = ["recording", "drawing", "transfers"];

/// Draws with the arguments of this program, and prints a table of times.
pub(crate) fn run() -> Result<()> {
    let program = std::env::current_exe().context("this program does not know where it is")?;
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--compare")
        .collect();
    println!(
        "{:10} {:>12} {:>12} {:>12}   device",
        "", COLUMNS[0], COLUMNS[1], COLUMNS[2]
    );
    for (name, environment) in ROWS {
        let mut command = Command::new(&program);
        command
            .args(&arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null());
        let output = command
            .output()
            .with_context(|| format!("could not start {}", program.display()))?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            // A machine without a GPU is no failure.
            let reason = error
                .trim_start_matches("Error: ")
                .split(". ")
                .next()
                .unwrap_or_default();
            match name {
                "GPU" => println!("{name:10} not drawn: {reason}"),
                _ => bail!("on {name}: {error}"),
            }
            continue;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let line = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim)
                .with_context(|| format!("the program did not print its {name}: {text}"))
        };
        print!("{name:10}");
        for column in COLUMNS {
            let seconds = line(column)?.split(' ').next().unwrap_or_default();
            print!(" {:>12}", format!("{seconds} s"));
        }
        println!("   {}", line("device")?);
    }
    Ok(())
}
