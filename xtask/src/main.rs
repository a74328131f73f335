//! `cargo xtask`: all automation of the project. One command, one file; this one only dispatches.

mod bench;
mod book;
mod build_ptx;
mod check;
mod ci;
mod compare;
mod conformance;
mod demo;
mod devices;
mod diff;
mod doctor;
mod fuzz;
mod gallery;
mod inspect;
mod isa;
mod new;
mod nvcc;
mod profile;
mod quiet;
mod run;
mod sanitize;
mod setup;
mod shell;
mod soft;
mod test;
mod ulp;
mod verdicts;

use clap::{Parser, Subcommand};

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

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Test(test::Args),
    Setup(setup::Args),
    Doctor(doctor::Args),
    BuildPtx(build_ptx::Args),
    Run(run::Args),
    Check(check::Args),
    Diff(diff::Args),
    Profile(profile::Args),
    Devices(devices::Args),
    Compare(compare::Args),
    Inspect(inspect::Args),
    Isa(isa::Args),
    Bench(bench::Args),
    Conformance(conformance::Args),
    Nvcc(nvcc::Args),
    Verdicts(verdicts::Args),
    Ulp(ulp::Args),
    Fuzz(fuzz::Args),
    Sanitize(sanitize::Args),
    New(new::Args),
    Book(book::Args),
    Ci(ci::Args),
}

fn main() -> std::process::ExitCode {
    // `cargo xtask isa | head` is no error.
    sigpipe::reset();
    soft::name();
    match run(Cli::parse().command) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo(args) => demo::run(args),
        Command::Test(args) => test::run(args),
        Command::Setup(args) => setup::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::BuildPtx(args) => build_ptx::run(args),
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Isa(args) => isa::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Conformance(args) => conformance::run(args),
        Command::Nvcc(args) => nvcc::run(args),
        Command::Verdicts(args) => verdicts::run(args),
        Command::Ulp(args) => ulp::run(args),
        Command::Fuzz(args) => fuzz::run(args),
        Command::Sanitize(args) => sanitize::run(args),
        Command::New(args) => new::run(args),
        Command::Book(args) => book::run(args),
        Command::Ci(args) => ci::run(args),
    }
}
