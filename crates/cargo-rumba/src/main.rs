//! `cargo rumba`: CUDA kernels in Rust, in any project. The commands are those of the library; [`init`] is this program's own.

mod init;
mod manifest;

use std::process::ExitCode;

use cargo_rumba::{bench, build_ptx, check, doctor, inspect, new, place, profile, project, setup};
use clap::{Parser, Subcommand};

/// CUDA kernels in Rust: begin, build, check, measure and inspect them, in any project, with or without a GPU
#[derive(Parser)]
#[command(
    name = "cargo rumba",
    bin_name = "cargo rumba",
    version,
    arg_required_else_help = true,
    after_help = "Start with `cargo rumba new PATH`, or in a package with `cargo rumba init`; then `cargo test`."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    New(new::Args),
    Init(init::Args),
    Check(check::Args),
    Profile(profile::Args),
    Bench(bench::Args),
    BuildPtx(build_ptx::Args),
    Inspect(inspect::Args),
    Setup(setup::Args),
    Doctor(doctor::Args),
}

fn main() -> ExitCode {
    // `cargo rumba inspect | head` is no error.
    sigpipe::reset();
    place::set(place::Place {
        program: "cargo rumba",
        sources: place::compiled_sources().to_owned(),
        build: project::build_of_sources(),
        loads_build: false,
        output: project::output,
        roots: project::roots,
        kernels: project::kernels,
    });
    // Cargo passes the name of the command on.
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "rumba") {
        words.remove(1);
    }
    let done = match Cli::parse_from(words).command {
        Command::New(args) => new::run(args),
        Command::Init(args) => init::run(args),
        Command::Check(args) => check::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Bench(args) => bench::run(args),
        Command::BuildPtx(args) => build_ptx::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Setup(args) => setup::run(args),
        Command::Doctor(args) => doctor::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// In use, clap checks the declaration of a command only when this command runs.
    #[test]
    fn every_command_is_declared_soundly() {
        super::Cli::command().debug_assert();
    }
}
