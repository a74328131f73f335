//! `cargo xtask fuzz kernels`: builds the package tests/random-kernels with as many kernels as wanted, and runs its program.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{setup, shell, soft};

/// Kernels of one crate. A crate of 2,000 kernels takes rustc more than fifteen minutes.
const KERNELS_OF_A_CRATE: u64 = 200;

/// Runs `count` kernels from a seed on, in one program for each crate of kernels.
///
/// The programs stay in `target/fuzz/kernels`. They need no compiler: `RUMBA_DEVICE=gpu` runs them on another machine's GPU.
pub(super) fn run(seed: u64, count: u64) -> Result<()> {
    setup::ensure_beside(|_| soft::ensure())?;
    let folder = shell::target().join("fuzz").join("kernels");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let mut failed = Vec::new();
    for first in (0..count).step_by(KERNELS_OF_A_CRATE as usize) {
        let (seed, count) = (seed.wrapping_add(first), KERNELS_OF_A_CRATE.min(count - first));
        println!("kernels of the seeds {seed} to {}", seed.wrapping_add(count - 1));
        let mut build = shell::cargo();
        build.args(["build", "--quiet", "--package", "random-kernels"]);
        // The name is that of `VARIABLE` in tests/random-kernels/src/program/mod.rs.
        shell::run(build.env("RUMBA_RANDOM_KERNELS", format!("{seed} {count}")))?;
        let program = folder.join(format!("{seed}-{count}"));
        let built = shell::target().join("debug").join("random-kernels");
        fs::copy(&built, &program).with_context(|| built.display().to_string())?;
        if shell::run(&mut Command::new(&program)).is_err() {
            failed.push(program.display().to_string());
        }
    }
    ensure!(failed.is_empty(), "kernels differ from the host's evaluation: {}", failed.join(", "));
    Ok(())
}
