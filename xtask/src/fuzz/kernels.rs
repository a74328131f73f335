//! `cargo xtask fuzz kernels`: builds the package tests/random-kernels with as many kernels as wanted, and runs its program.

use anyhow::Result;

use crate::{setup, shell, soft};

/// Runs `count` kernels from a seed on.
pub(super) fn run(seed: u64, count: u64) -> Result<()> {
    setup::ensure_beside(soft::ensure)?;
    let mut run = shell::cargo();
    run.args(["run", "--package", "random-kernels"]);
    // The name is that of `VARIABLE` in tests/random-kernels/src/program/mod.rs.
    shell::run(run.env("RUMBA_RANDOM_KERNELS", format!("{seed} {count}")))
}
