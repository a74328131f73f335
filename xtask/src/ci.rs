//! `cargo xtask ci`: everything that must hold before a change lands.

use crate::{demo, shell, test};
use anyhow::{Context, Result};
use clap::Parser;
use std::process::Command;
use std::time::Instant;

/// Formatting, lints, documentation, the demo and every test, of Rumba and of apps; warnings are errors
#[derive(clap::Args)]
pub(crate) struct Args {}

#[derive(Parser)]
struct Parsed<A: clap::Args> {
    #[command(flatten)]
    args: A,
}

/// A command's arguments, of which these options are given.
fn with<A: clap::Args>(options: &[&str]) -> A {
    Parsed::<A>::parse_from(["xtask"].iter().chain(options)).args
}

pub(crate) fn run(_: Args) -> Result<()> {
    step("format", || {
        shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
        // `--all` would name the packages that apps depend on, too.
        shell::run(shell::apps_cargo().args(["fmt", "--check"]))
    })?;
    step("demo", || demo::run(with(&[])))?;
    step("lints", || lints(shell::cargo(), &["--features", "rumba-tests/measure,machine/fuzz"]))?;
    step("documentation", || documentation(shell::cargo()))?;
    step("tests", || test::run(with(&["--optimized"])))?;
    step("lints of apps", || lints(shell::apps_cargo(), &[]))?;
    step("documentation of apps", || documentation(shell::apps_cargo()))?;
    step("tests of apps", || test::run(with(&["--apps"])))
}

fn lints(mut cargo: Command, features: &[&str]) -> Result<()> {
    cargo.args(["clippy", "--workspace", "--all-targets", "--locked"]).args(features);
    shell::run(cargo.args(["--", "--deny", "warnings"]))
}

fn documentation(mut cargo: Command) -> Result<()> {
    shell::run(cargo.args(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "--deny warnings"))
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n=== {name}");
    let start = Instant::now();
    work().with_context(|| format!("the step `{name}` failed"))?;
    println!("=== {name}: passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
