//! The digits on one core, on all cores and on a GPU. The environment of a process says what it runs on, so that each is drawn by one of its own.

use crate::Args;
use crate::sheet::{TIMES, Times};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use std::process::{Command, Stdio};

/// The names of rows, and the environments of their processes.
const ROWS: [(&str, &[(&str, &str)]); 3] = [
    ("one core", &[("RUMBA_DEVICE", "soft"), ("RUMBA_WORKERS", "1")]),
    ("all cores", &[("RUMBA_DEVICE", "soft"), ("RUMBA_WORKERS", "0")]),
    ("GPU", &[("RUMBA_DEVICE", "gpu")]),
];

/// Variables of checks and profiles observe this process only.
const OBSERVED: [&str; 2] = ["RUMBA_CHECK", "RUMBA_PROFILE_JSON"];

/// Draws each digit once with the settings of this program, in three ways, and prints a table of times.
pub(crate) fn print(args: &Args) -> Result<()> {
    if OBSERVED.iter().any(|name| std::env::var_os(name).is_some()) {
        return Ok(());
    }
    let program = std::env::current_exe().context("this program does not know where it is")?;
    let mut arguments = vec!["--times".to_owned(), format!("--seed={}", args.seed)];
    let numbers = args.numbers.and_then(|numbers| numbers.to_possible_value());
    arguments.extend(numbers.map(|numbers| format!("--numbers={}", numbers.get_name())));
    arguments.extend(args.steps.map(|steps| format!("--steps={steps}")));
    arguments.extend(args.guidance.map(|guidance| format!("--guidance={guidance}")));
    print!("\n{:<10}", "10 digits");
    for title in TIMES {
        print!(" {title:>12}");
    }
    println!("   device");
    for (name, environment) in ROWS {
        let mut command = Command::new(&program);
        command.args(&arguments).envs(environment.iter().copied()).stdin(Stdio::null());
        let output = command.output().with_context(|| format!("could not start {}", program.display()))?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            // A machine without a GPU is no failure.
            let reason = error.trim_start_matches("Error: ").split(". ").next().unwrap_or_default();
            match name {
                "GPU" => println!("{name:10} not drawn: {reason}"),
                _ => bail!("on {name}: {error}"),
            }
            continue;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let (seconds, device): Times =
            serde_json::from_str(&text).with_context(|| format!("the program did not print its times: {text}"))?;
        print!("{name:10}");
        for seconds in seconds {
            // Transfers are short.
            let digits = if seconds < 0.01 { 6 } else { 2 };
            print!(" {:>12}", format!("{seconds:.digits$} s"));
        }
        println!("   {device}");
    }
    Ok(())
}
