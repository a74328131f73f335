//! `cargo xtask check NAME`: one program of the gallery under every check of the software device.

use crate::gallery::{self, Device};
use crate::{setup, shell};
use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// Run one program on the software device under all of its checks
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask check reduce
  cargo xtask check matmul -- --n 64      small sizes: races are looked for at every access
  cargo xtask check matmul --only mem     memory accesses alone, at full speed

A finding names the kernel, both threads and the Rust line of each, the address and what lies there. The same checks for
any program that uses libcuda.so.1: RUMBA_DEVICE=soft RUMBA_CHECK=all PROGRAM")]
pub(crate) struct Args {
    /// The program: a file in host/src/bin
    name: String,
    /// The checks, separated by commas: mem, init, race
    #[arg(long, value_name = "CHECKS", default_value = "all")]
    only: String,
    /// Arguments for the program, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

/// As much of a finding as is counted here; the program's output has the rest.
#[derive(Deserialize)]
struct Finding {
    count: u64,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let name = gallery::find(&args.name)?;
    setup::ensure()?;
    gallery::build(std::slice::from_ref(&name))?;
    let findings = shell::target().join("findings.json");
    std::fs::write(&findings, "").with_context(|| format!("could not write {}", findings.display()))?;
    let mut command = gallery::command(&name, Some(Device::Soft));
    command
        .env("RUMBA_CHECK", &args.only)
        .env("RUMBA_CHECK_JSON", &findings);
    shell::run(command.args(&args.args)).context("a kernel failed; its report stands above")?;
    let text = std::fs::read_to_string(&findings)?;
    let found: Vec<Finding> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    if !found.is_empty() {
        let times: u64 = found.iter().map(|finding| finding.count).sum();
        bail!(
            "{name}: {} findings, {times} times in all; they stand above, and as JSON in {}",
            found.len(),
            findings.display()
        );
    }
    println!("{name}: no findings ({})", args.only);
    Ok(())
}
