//! `cargo xtask`: all automation of the project. One command, one file; this one only dispatches.

mod build_ptx;
mod doctor;
mod setup;

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
    Setup(setup::Args),
    Doctor(doctor::Args),
    BuildPtx(build_ptx::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Setup(args) => setup::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::BuildPtx(args) => build_ptx::run(args),
    }
}
