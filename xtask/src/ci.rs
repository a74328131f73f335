//! `cargo xtask ci`: everything that must hold before a change lands.

use crate::{demo, shell, test};
use anyhow::{Context, Result};
use clap::Parser;
use std::time::Instant;

/// Formatting, lints, documentation, the demo and every test; warnings are errors
#[derive(clap::Args)]
pub(crate) struct Args {}

#[derive(Parser)]
struct Defaults<A: clap::Args> {
    #[command(flatten)]
    args: A,
}

/// A command's arguments when none are given.
fn defaults<A: clap::Args>() -> A {
    Defaults::<A>::parse_from(["xtask"]).args
}

pub(crate) fn run(_: Args) -> Result<()> {
    step("format", || shell::run(shell::cargo().args(["fmt", "--all", "--check"])))?;
    step("demo", || demo::run(defaults()))?;
    step("lints", || {
        shell::run(shell::cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            "rumba-tests/measure",
            "--locked",
            "--",
            "--deny",
            "warnings",
        ]))
    })?;
    step("documentation", || {
        let mut doc = shell::cargo();
        shell::run(doc.args(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "--deny warnings"))
    })?;
    step("tests", || test::run(defaults()))
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n=== {name}");
    let start = Instant::now();
    work().with_context(|| format!("the step `{name}` failed"))?;
    println!("=== {name}: passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
