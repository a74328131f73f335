//! `cargo xtask`: all automation of the project. Each command has its own file; this file only dispatches.

mod aarch64;
mod bench;
mod book;
mod check;
mod ci;
mod compare;
mod compare_engines;
mod conformance;
mod demo;
mod devices;
mod diff;
mod faults;
mod fuzz;
mod gallery;
mod isa;
mod models;
mod new;
mod nvcc;
mod package;
mod profile;
mod run;
mod sanitize;
mod setup;
mod shell;
mod test;
mod ulp;
mod verdicts;

use cargo_rumba::{build_ptx, doctor, inspect, libcuda, place, quiet, soft};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Rumba's automation: build kernels to PTX, run them, test them, look at them.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    version,
    arg_required_else_help = true,
    after_help = "Start with `cargo xtask demo`: it sets up what is missing, builds the kernels and runs the gallery."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

macro_rules! commands {
    ($($command:ident: $file:ident,)*) => {
        #[derive(Subcommand)]
        enum Command {
            $($command($file::Args),)*
        }

        fn run(command: Command) -> anyhow::Result<()> {
            match command {
                $(Command::$command(args) => $file::run(args),)*
            }
        }
    };
}

// In the order of the help.
commands! {
    Demo: demo,
    Test: test,
    Setup: setup,
    Doctor: doctor,
    BuildPtx: build_ptx,
    Run: run,
    Check: check,
    Diff: diff,
    Profile: profile,
    Devices: devices,
    Compare: compare,
    CompareEngines: compare_engines,
    Inspect: inspect,
    Isa: isa,
    Bench: bench,
    Conformance: conformance,
    Nvcc: nvcc,
    Verdicts: verdicts,
    Ulp: ulp,
    Fuzz: fuzz,
    Faults: faults,
    Sanitize: sanitize,
    New: new,
    Book: book,
    Aarch64: aarch64,
    Ci: ci,
    Package: package,
}

fn main() -> std::process::ExitCode {
    // `cargo xtask isa | head` is no error.
    sigpipe::reset();
    place::set(place::Place {
        program: "cargo xtask",
        sources: shell::workspace().to_owned(),
        build: shell::target(),
        loads_build: true,
        output: shell::target,
        roots: || vec![shell::workspace().to_owned(), shell::apps()],
        kernels: || Ok(shell::workspace().join("kernels-gpu")),
    });
    soft::name();
    let matches = own_examples(Cli::command()).get_matches();
    match run(Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// The same command, whose examples name this program: commands that it shares with `cargo rumba` name that one.
fn own_examples(command: clap::Command) -> clap::Command {
    let own = |text: String| {
        text.replace("cargo rumba new ", "cargo xtask new project ").replace("cargo rumba", "cargo xtask")
    };
    let examples = command.get_after_help().map(|text| own(text.to_string()));
    let command = command.mut_subcommands(own_examples);
    match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// In use, clap checks the declaration of a command only when this command runs.
    #[test]
    fn every_command_is_declared_soundly() {
        super::own_examples(super::Cli::command()).debug_assert();
    }
}
